#include "launch/app/commands.hpp"

#include <cstdlib>

#include <malloc.h>

int main(int argc, char** argv) {
#ifdef M_ARENA_MAX
  ::mallopt(M_ARENA_MAX, 1);  // a heap for each thread would cost more than they wait for each other
#endif
  const int code = launch::run_command({argv + 1, argv + argc});
  // Not exit(): a look-up in the system's resolver that we have given up must not be waited for.
  std::_Exit(code);
}
