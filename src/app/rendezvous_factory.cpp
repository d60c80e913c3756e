#include "launch/app/rendezvous_factory.hpp"

#include "launch/app/elastic_session.hpp"
#include "launch/app/home_rendezvous.hpp"
#include "launch/app/static_session.hpp"

namespace launch {

std::unique_ptr<Rendezvous> make_rendezvous(const boost::asio::any_io_executor& executor, Config& config,
                                            StoreServer& server, Mailbox& mailbox) {
  if (config.elastic) return std::make_unique<ElasticSession>(executor, config, server, mailbox);
  if (config.nnodes > 1) return std::make_unique<StaticSession>(executor, config, server, mailbox);
  return std::make_unique<HomeRendezvous>(config, server, mailbox);
}

}  // namespace launch
