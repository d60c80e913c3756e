// A stage whose talks use a Network, for tests of the parts of sessions. It carries out connections and questions to
// stores, and keeps what is told and said.
#pragma once

#include "network.hpp"

#include "launch/core/session/stage.hpp"
#include "launch/core/session/store_link.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace launch::play {

class Talker {
 public:
  Talker(Network& network, std::string host) : network_(network), host_(std::move(host)) { begin(); }

  Stage& stage() { return stage_; }

  // Runs a talk to its end; nullopt: it has not ended within `limit` of virtual time.
  template <class T>
  std::optional<T> run(Talk<T> talk, Duration limit = std::chrono::seconds(60)) {
    std::optional<T> result;
    Scope scope(stage_);
    scope.start(keep(std::move(talk), &result));
    act();
    network_.events().run_until([&] { return result.has_value(); }, limit);
    return result;
  }
  // Tells the stage the time; for what is done outside of run().
  void begin() {
    const Time now = network_.events().now();
    const WallTime wall(std::chrono::duration_cast<WallClock::duration>(now.time_since_epoch()));
    stage_.begin({{now, wall}, std::chrono::seconds(30)});
  }
  // Also carries out what has been asked for outside of run().
  void act() {
    for (SessionAction& action : stage_.take_actions()) carry_out(action);
    set_timer();
  }
  StoreLink link_to(const Endpoint& store) {
    return *run(connect_quietly(stage_, store, later(network_.events().now(), std::chrono::seconds(1)))).value();
  }

  std::vector<AgentEvent> told;
  std::vector<std::string> said;
  std::vector<Asked> was_asked;
  std::vector<JobAnswered> was_answered;

 private:
  template <class T>
  static Talk<void> keep(Talk<T> talk, std::optional<T>* result) {
    result->emplace(co_await talk);
  }
  void answer(QuestionId id, AnswerValue value) {
    begin();
    stage_.answer({id, std::move(value)});
    stage_.run();
    act();
  }
  void set_timer() {
    if (stage_.deadline() == never) return;
    network_.events().at(stage_.deadline(), [this] {
      begin();
      stage_.run();
      act();
    });
  }
  void carry_out(SessionAction& action) {
    if (auto* ask = std::get_if<Ask>(&action)) return carry_out(*ask);
    if (auto* tell = std::get_if<Tell>(&action)) return told.push_back(std::move(tell->event));
    if (auto* say = std::get_if<Say>(&action)) return said.push_back(std::move(say->text));
    if (auto* one = std::get_if<Asked>(&action)) return was_asked.push_back(std::move(*one));
    if (auto* one = std::get_if<JobAnswered>(&action)) return was_answered.push_back(std::move(*one));
    if (const auto* wake = std::get_if<WakeLink>(&action)) return links_.at(wake->link)->wake();
    if (const auto* beat = std::get_if<Beat>(&action)) return carry_out(*beat);
    if (const auto* close = std::get_if<CloseLink>(&action)) return carry_out(*close);
    if (const auto* part = std::get_if<PartLink>(&action)) return links_.extract(part->link).mapped()->part();
  }
  void carry_out(const CloseLink& close) {
    const auto link = links_.extract(close.link).mapped();
    close.resets ? link->abandon() : link->close();
  }
  void carry_out(const Beat& beat) {
    if (beat.interval) return links_.at(beat.link)->set_beats(*beat.interval, beat.patience);
    links_.at(beat.link)->set_patience(beat.patience);
  }
  void carry_out(Ask& ask) {
    if (const auto* open = std::get_if<OpenLink>(&ask.question)) {
      network_.connect(host_, open->endpoint, open->deadline, [this, id = ask.id, link = open->link](auto opened) {
        if (opened) links_.emplace(link, *opened);
        answer(id, Opened{link, opened ? Status() : Status(opened.error()), opened ? (*opened)->peer() : Endpoint(),
                          host_});
      });
    } else if (auto* asked = std::get_if<AskStore>(&ask.question)) {
      const auto done = [this, id = ask.id, link = asked->link](Result<Outcome> outcome) {
        const auto one = links_.find(link);
        const bool hung_up = !outcome && one != links_.end() && one->second->hung_up();
        const Time lived = one == links_.end() ? Time() : one->second->lived_at();
        const Time heard = one == links_.end() ? Time() : one->second->heard_at();
        answer(id, Answered{std::move(outcome), hung_up, lived, heard});
      };
      if (!links_.contains(asked->link)) return done(Error{ErrorCode::closed, "the connection was closed"});
      links_.at(asked->link)->perform(asked->operation, asked->deadline, done);
    } else if (const auto* listen = std::get_if<Listen>(&ask.question)) {
      auto opened = network_.listen(host_, listen->at.port);
      answer(ask.id, Listening{opened ? Status() : Status(opened.error()),
                               opened ? network_.port_of(**opened) : std::uint16_t{0}, false});
    } else if (const auto* door = std::get_if<OpenDoor>(&ask.question)) {
      auto opened = network_.listen(host_, door->ports.empty() ? std::uint16_t{0} : door->ports.front());
      const bool taken = !opened;
      if (!opened) opened = network_.listen(host_, 0);
      answer(ask.id, DoorOpened{opened ? network_.port_of(**opened) : std::uint16_t{0}, taken});
    } else if (const auto* locate = std::get_if<LocateHost>(&ask.question)) {
      answer(ask.id, Whereabouts{locate->host == host_, false});
    }
  }

  Network& network_;
  std::string host_;
  Stage stage_{1};
  std::map<LinkId, std::shared_ptr<Link>> links_;
};

// A store of a launch agent, on n0, and talkers of two nodes.
struct TwoTalkers {
  explicit TwoTalkers(std::uint64_t seed = 1, Duration longest_delay = Duration::zero())
      : events(seed), network(events, longest_delay) {}

  Events events;
  Network network;
  std::shared_ptr<Store> store = *network.listen("n0", 29500);
  Endpoint endpoint{"n0", 29500};
  Talker first{network, "n1"};
  Talker second{network, "n2"};

  Time soon() const { return later(events.now(), std::chrono::seconds(1)); }
  bool told(Talker& talker, std::size_t events_told, Duration limit = std::chrono::seconds(1)) {
    return events.run_until([&] { return talker.told.size() >= events_told; }, limit);
  }
};

}  // namespace launch::play
