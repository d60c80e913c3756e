# The program: one file that runs on any node, with a static C++ runtime.
add_executable(launch src/main.cpp)
target_link_libraries(launch PRIVATE launch_app)
if(NOT LAUNCH_SANITIZE)
  target_link_options(launch PRIVATE -static-libstdc++ -static-libgcc -Wl,--gc-sections -Wl,--as-needed)
  # Two small functions of libm are all that libstdc++ needs: to load a library for them costs time and memory. They are
  # named, since libstdc++ asks for them only later in the line.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    find_library(LAUNCH_STATIC_LIBM libm.a)
  endif()
  if(LAUNCH_STATIC_LIBM)
    target_link_libraries(launch PRIVATE -Wl,-u,fegetround,-u,fesetround ${LAUNCH_STATIC_LIBM})
  endif()
endif()
