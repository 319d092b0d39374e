// Which of how many processes this one is, as torchrun, Slurm or Open MPI tell it.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace lenbench {

struct Ranks {
  int rank = 0, world = 1;
  int local_rank = 0;  // among the ranks of this machine
  std::string host;    // where rank 0 can be reached; empty with one rank
  int port = 0;
  bool store_is_held = false;  // by the launcher itself (torchrun's agent): rank 0 connects like all others
  std::string run;             // differs between runs that the launcher starts one after another
  std::string source;          // the variable that told the rank, for messages
};

// A variable's value; none when it is not set. An empty value counts as not set.
using Environment = std::function<std::optional<std::string>(const char*)>;
Environment process_environment();

// RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT (torchrun, or by hand); else OMPI_COMM_WORLD_RANK, _SIZE
// and _LOCAL_RANK; else, in a step that srun started, SLURM_PROCID, SLURM_NTASKS and SLURM_LOCALID. Open MPI and Slurm
// know no address: MASTER_ADDR and MASTER_PORT give it, or, under Slurm, the first node of the step and a port made
// from the job's number. None when there is no launcher, or only one rank. Throws Error in one line on variables that
// are incomplete, no numbers, out of range, or that contradict one another.
std::optional<Ranks> ranks_from(const Environment& environment);

// The first host of a Slurm node list: "node[03-06,9],other" gives "node03". Empty when it has none.
std::string first_host(const std::string& nodes);

}  // namespace lenbench
