# What `cmake --install` and the wheel hold: the program, what it opens with dlopen, its data, and what it says of itself.

install(TARGETS lenbench RUNTIME DESTINATION bin)
if(LENBENCH_NN)
  install(TARGETS lenbench_nn LIBRARY DESTINATION lib)
  if(SKBUILD)
    # site-packages/lenbench/lib to site-packages/torch/lib.
    set_target_properties(lenbench_nn PROPERTIES INSTALL_RPATH "$ORIGIN/../../torch/lib")
  else()
    set_target_properties(lenbench_nn PROPERTIES INSTALL_RPATH "${LIBTORCH_ROOT}/lib")
  endif()
  # Linked once: CMake would pad the build tree's RPATH with ':', which the loader reads as the current folder.
  set_target_properties(lenbench_nn PROPERTIES BUILD_WITH_INSTALL_RPATH ON)
endif()

# The program looks for ../share/lenbench.
foreach(KIND baselines checkpoints corpora published recipes records tables)
  install(DIRECTORY results/${KIND} DESTINATION share/lenbench)
endforeach()
install(PROGRAMS tools/render_figure.py DESTINATION share/lenbench)

# Made by the program that is installed, so that they cannot be older than it. A wheel's go to the environment's own share/.
set(LENBENCH_SELF_DESCRIPTION "\${CMAKE_INSTALL_PREFIX}")
if(SKBUILD)
  set(LENBENCH_SELF_DESCRIPTION "${SKBUILD_DATA_DIR}")
endif()
find_package(Python3 COMPONENTS Interpreter QUIET)
if(Python3_FOUND)
  install(CODE "execute_process(COMMAND \"${Python3_EXECUTABLE}\" \"${PROJECT_SOURCE_DIR}/tools/self_description.py\"
    \"$<TARGET_FILE:lenbench>\" \"\$ENV{DESTDIR}${LENBENCH_SELF_DESCRIPTION}/share\" COMMAND_ERROR_IS_FATAL ANY)")
endif()
