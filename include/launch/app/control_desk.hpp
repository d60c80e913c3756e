// Where launch-ctl asks this node: at its door, or through another node, whose questions come by the job's store. It
// passes on what concerns all nodes, and gathers what they answer; app/node_answers knows what this node answers.
// AgentLoop owns it for the life of the process. Nobody is woken as long as nobody asks.
#pragma once

#include "launch/app/hang_desk.hpp"
#include "launch/app/node_answers.hpp"
#include "launch/app/startup_desk.hpp"
#include "launch/core/control/control_request.hpp"
#include "launch/io/door.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace launch {

class ControlDesk {
 public:
  using Job = NodeAnswers::Job;
  struct Deeds {
    std::function<void(NodeEvent)> feed;
    std::function<void(pid_t asker)> stop;  // stops this node, as SIGTERM does
  };
  ControlDesk(boost::asio::any_io_executor executor, Job job, Deeds deeds);

  // Begins to open the door. Without one the job runs all the same.
  void open();
  // The door is open; a file system that stalls is waited for no longer than a moment.
  boost::asio::awaitable<void> opened();
  // Workers are about to be started.
  void begin() {
    answers_.begin();
    hangs_.begin();
    startup_.begin();
  }
  // Where the stores of this node note who connects.
  const std::shared_ptr<ClientArrivals>& arrivals() const { return startup_.arrivals(); }
  void ended(LocalRank local_rank, ExitStatus status) { answers_.ended(local_rank, status); }
  void take(const Asked& asked);
  void take(const JobAnswered& answered);
  // The workers have ended: whoever follows their logs gets the rest, if that does not take long. Nobody finds the job
  // by its door from then on.
  boost::asio::awaitable<void> farewell();
  // Nothing of the door is left; a file system that stalls is waited for no longer than a moment.
  boost::asio::awaitable<void> closed();

 private:
  template <class Answer>
  struct Awaited {
    explicit Awaited(const boost::asio::any_io_executor& executor) : come(executor) {}
    boost::asio::steady_timer come;  // cancelled when the answer is there
    std::optional<Answer> answer;
  };
  using Others = Awaited<JobAnswered>;
  using Own = Awaited<NodeReport>;

  boost::asio::awaitable<void> tell_opened(boost::asio::awaitable<std::optional<Status>> opening,
                                           std::vector<std::string> folders);
  boost::asio::awaitable<std::string> serve(std::string line, pid_t visitor);
  boost::asio::awaitable<void> answer_meanwhile(ControlRequest request, Time asked, std::shared_ptr<Own> own);
  static boost::asio::awaitable<NodeReport> answer_of(std::shared_ptr<Own> own);
  boost::asio::awaitable<std::vector<NodeAnswer>> ask_others(ControlRequest request);
  // `asked`: when all nodes were asked.
  boost::asio::awaitable<NodeReport> own_answer(ControlRequest request, Time asked);
  boost::asio::awaitable<std::vector<NodeReport>> ask_all(ControlRequest::Verb verb);
  boost::asio::awaitable<NodeReport> answer(ControlRequest request, Time asked);
  std::vector<NodeAnswer> no_answers() const;
  boost::asio::awaitable<bool> has_torchruns_nodes();
  boost::asio::awaitable<void> answer_other(Asked asked);

  boost::asio::any_io_executor executor_;
  Job job_;
  Deeds deeds_;
  NodeAnswers answers_;
  Door door_;
  HangDesk hangs_;
  StartupDesk startup_;
  std::uint64_t questions_ = 0;
  std::map<std::uint64_t, std::shared_ptr<Others>> waiting_;  // for JobAnswered, by its id
};

}  // namespace launch
