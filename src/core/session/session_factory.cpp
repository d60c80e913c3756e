#include "launch/core/session/session_factory.hpp"

#include "launch/core/session/elastic_session.hpp"
#include "launch/core/session/home_session.hpp"
#include "launch/core/session/static_session.hpp"

namespace launch {

std::unique_ptr<Session> make_session(const Config& config, const SessionFacts& facts) {
  if (const C10dChoice* const c10d = config.c10d()) return std::make_unique<ElasticSession>(config, *c10d, facts);
  if (const auto* const nodes = std::get_if<StaticChoice>(&config.meeting))
    return std::make_unique<StaticSession>(config, *nodes, facts);
  return std::make_unique<HomeSession>(config, std::get<AloneChoice>(config.meeting), facts);
}

}  // namespace launch
