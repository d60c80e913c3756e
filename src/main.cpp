#include "launch/app/commands.hpp"
#include "launch/app/control_command.hpp"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include <malloc.h>

int main(int argc, char** argv) {
#ifdef M_ARENA_MAX
  ::mallopt(M_ARENA_MAX, 1);  // a heap for each thread would cost more than waiting for a shared one
#endif
  const std::vector<std::string> args(argv + std::min(argc, 1), argv + argc);
  const bool asks = argc > 0 && launch::is_control_name(argv[0]);
  const int code = asks ? launch::run_control(args) : launch::run_command(args);
  // Not exit(), which would wait for a look-up in the system's resolver that we have given up.
  std::_Exit(code);
}
