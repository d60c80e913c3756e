#include "launch/app/commands.hpp"

#include <cstdlib>

#include <malloc.h>

int main(int argc, char** argv) {
#ifdef M_ARENA_MAX
  ::mallopt(M_ARENA_MAX, 1);  // a heap for each thread would cost more than waiting for a shared one
#endif
  const int code = launch::run_command({argv + 1, argv + argc});
  // Not exit(), which would wait for a look-up in the system's resolver that we have given up.
  std::_Exit(code);
}
