// `launch --hosts …`: the process that the user typed. Makes a connection to each host, shows what comes from there,
// and carries out what core/hosts/head decides. commands calls it once; it needs no guard, since nothing but
// connections are its children, and each host's launch ends when its connection does.
#pragma once

#include "launch/core/config/hosts_settings.hpp"
#include "launch/io/signals.hpp"

#include <functional>

namespace launch {

// The exit code of the job. `on_begun`: all hosts have answered, and the nodes are started.
int run_head(HostsPlan plan, const Environment& env, SignalPlan& signals, std::function<void()> on_begun);

}  // namespace launch
