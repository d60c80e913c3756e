#include "launch/app/commands.hpp"

#include <cstdlib>

int main(int argc, char** argv) {
  const int code = launch::run_command({argv + 1, argv + argc});
  // Not exit(): a look-up in the system's resolver that we have given up must not be waited for.
  std::_Exit(code);
}
