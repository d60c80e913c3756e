# What most files include, parsed once for each floor. Clang saves a quarter of its time by it; GCC, which spends its on
# optimizing, nothing. clang-tidy sees each file without it (the preset tidy), so that none lacks an include.
set(common_headers)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  set(common_headers <algorithm> <array> <charconv> <chrono> <cstdint> <deque> <filesystem> <functional> <map> <memory>
      <optional> <set> <span> <string> <string_view> <unordered_map> <utility> <variant> <vector>
      <boost/system/result.hpp>)
  target_precompile_headers(launch_core PRIVATE ${common_headers} <fmt/format.h> <fmt/ranges.h> <nlohmann/json.hpp>)
  target_precompile_headers(launch_io PRIVATE ${common_headers} <fmt/format.h>
                            <boost/asio/any_io_executor.hpp> <boost/asio/as_tuple.hpp> <boost/asio/awaitable.hpp>
                            <boost/asio/buffer.hpp> <boost/asio/io_context.hpp> <boost/asio/ip/tcp.hpp>
                            <boost/asio/posix/stream_descriptor.hpp> <boost/asio/post.hpp> <boost/asio/steady_timer.hpp>
                            <boost/asio/use_awaitable.hpp> <boost/asio/write.hpp>)
  target_precompile_headers(launch_app REUSE_FROM launch_io)
endif()
