// What this program was built from.
#pragma once

namespace lenbench {

const char* version();  // "0.1.0"
// The git commit at build time in 40 hexadecimal digits, with "-dirty" when tracked files had changed; "unknown" when
// the sources are not the top of a git work tree.
const char* commit();

}  // namespace lenbench
