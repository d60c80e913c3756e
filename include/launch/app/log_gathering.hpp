// The files of the workers' output that the hosts of `launch --hosts --gather-logs=DIR` send home: writes each into
// DIR/HOST, piece by piece, and says at the end of which hosts they are not all there, and why. Used by app/head_run.
// Nothing of it changes how the job ends. A host of which a piece could not be written gets no more written.
#pragma once

#include "launch/core/hosts/connection_words.hpp"
#include "launch/core/hosts/head_plan.hpp"
#include "launch/core/hosts/host_messages.hpp"

#include <string>
#include <vector>

namespace launch {

class LogGathering {
 public:
  // Without a folder it does nothing.
  LogGathering(std::string folder, const HeadPlan& plan);

  void store(int node, const NodeFile& file);
  // No more will come.
  void end(int node);
  // All that has come so far was written.
  bool is_complete(int node) const;
  // Once the job has ended.
  void tell() const;

 private:
  struct Host {
    std::string name;
    int files = 0;
    bool ended = false;
    std::string fault{};
  };

  // At most one for each host.
  std::vector<HostProblem> problems() const;

  std::string folder_;
  std::vector<Host> hosts_;
};

}  // namespace launch
