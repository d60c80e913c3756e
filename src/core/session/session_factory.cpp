#include "launch/core/session/session_factory.hpp"

#include "launch/core/session/elastic_session.hpp"
#include "launch/core/session/home_session.hpp"
#include "launch/core/session/static_session.hpp"

namespace launch {

std::unique_ptr<Session> make_session(const Config& config, const SessionFacts& facts) {
  if (config.elastic) return std::make_unique<ElasticSession>(config, facts);
  if (config.nnodes > 1) return std::make_unique<StaticSession>(config, facts);
  return std::make_unique<HomeSession>(config, facts);
}

}  // namespace launch
