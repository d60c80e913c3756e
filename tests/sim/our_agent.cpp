#include "agents.hpp"

#include "launch/core/c10d/elastic_rendezvous.hpp"
#include "launch/core/c10d/hosted_rendezvous.hpp"

namespace launch::sim {
namespace {

using namespace std::chrono_literals;

class OurAgent : public SimAgent {
 public:
  using SimAgent::SimAgent;

  void start() override { begin(true); }
  void fail_worker() override {
    if (alive_ && round_) stop("its worker fails");
  }
  // The others hear of it while its workers still end.
  void leave() override {
    if (!alive_ || leaving_) return;
    world_.note(name() + " leaves");
    leaving_ = true;
    trouble_until_ = never;
    rest();
    machine_->leave(world_.now(), "it was told to");
    client_.wake();
  }
  void close() override {
    if (!alive_) return;
    machine_->close(world_.now());
    client_.wake();
  }

 private:
  void begin(bool wants_in) {
    if (world_.hosted()) {
      machine_ = std::make_unique<HostedRendezvous>(spec_.settings);
    } else {
      machine_ = std::make_unique<ElasticRendezvous>(spec_.settings, Random(world_.random().next()));
    }
    if (!spec_.admits) machine_->admit_nobody();
    if (wants_in) machine_->join(world_.now(), 0);
    client_.connect();
    take(machine_->start(instant()));
  }

  void expelled() override {
    world_.note(name() + " finds its connection closed");
    if (leaving_) return die();
    begin(!formed_);
    if (formed_) stop("it was taken for dead");
  }

  void lost_the_store() override {
    world_.note(name() + " takes the store for lost");
    dying_ = true;
    stop("it ends");
  }

  void on(const Outcome& outcome) override {
    auto step = machine_->on(outcome, instant());
    if (step) return take(*std::move(step));
    referee_.fault(step.error().message);
  }

  void take(ElasticStep step) {
    std::optional<std::string> broken;
    for (const ElasticNews& news : step.news) {
      if (const auto* formed = std::get_if<RoundFormed>(&news)) {
        take(*formed);
      } else if (const auto* told = std::get_if<RoundBroken>(&news)) {
        broken = told->reason;
      } else if (const auto* refused = std::get_if<RoundRefused>(&news)) {
        refused_ = true;
        saw_closed_ = refused->error.code == ErrorCode::closed;
        world_.note(name() + " is refused: " + refused->error.message);
      } else if (std::holds_alternative<RendezvousEnded>(news)) {
        return die();
      }
    }
    client_.perform(step.next, machine_->deadline());
    if (!broken) return;
    if (!spec_.admits && broken->ends_with(" joins")) referee_.fault("a newcomer breaks up a round: " + *broken);
    stop("the round breaks up: " + *broken);
  }

  void take(const RoundFormed& formed) {
    formed_ = true;
    formed_at_ = world_.now();
    round_ = formed.round;
    referee_.formed(self(), spec_.settings.member, formed);
    run(formed.round);
  }

  // Workers need a moment to end.
  void stop(const std::string& why) {
    world_.note(name() + " stops: " + why);
    if (!round_) return stopped();
    if (std::exchange(stopping_, true)) return;
    client_.when_awake(world_.now() + world_.random().between(1ms, 300ms), [this] {
      stopping_ = false;
      if (alive_) stopped();
    });
  }

  void stopped() {
    rest();
    round_.reset();
    if (dying_) return die();
    if (leaving_) return;
    machine_->join(world_.now(), 0);
    client_.wake();
  }

  std::unique_ptr<ElasticMachine> machine_;
  bool formed_ = false;  // a round, ever
  bool stopping_ = false;
  bool leaving_ = false;
  bool dying_ = false;
};

}  // namespace

std::unique_ptr<SimAgent> make_ours(World& world, Referee& referee, AgentSpec spec) {
  spec.settings.self.local_id = launch_local_id;
  return std::make_unique<OurAgent>(world, referee, std::move(spec));
}

}  // namespace launch::sim
