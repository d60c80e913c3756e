#include "launch/io/deadline.hpp"

#include "launch/io/clock.hpp"

namespace launch {

Deadline::Deadline(boost::asio::ip::tcp::socket& socket, Time when)
    : guarded_(std::make_shared<Guarded>(Guarded{&socket, false})), timer_(socket.get_executor()) {
  if (when == never) return;
  timer_.expires_at(to_steady(when));
  timer_.async_wait([guarded = guarded_](const boost::system::error_code& error) {
    if (error || guarded->socket == nullptr) return;
    guarded->passed = true;
    boost::system::error_code ignored;
    guarded->socket->cancel(ignored);
  });
}

Deadline::~Deadline() { guarded_->socket = nullptr; }

}  // namespace launch
