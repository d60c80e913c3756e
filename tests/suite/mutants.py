"""Faults that are put into the program one by one: tests of the quick suite must find each.

    python3 tests/suite/mutants.py [AREA]...

Works on a copy of the tree in build/mutants. A mutant is found if a test that its words choose fails; it says which.
Exit code 0 if all were found, 1 if not, 2 if there is no such area.
"""
import pathlib
import re
import shutil
import subprocess
import sys

from host_mutants import HOST_MUTANTS
from mutant import Mutant

ROOT = pathlib.Path(__file__).resolve().parents[2]
COPY = ROOT / "build" / "mutants"
FENCE = ("  if (port_ != 0 && std::exchange(fenced_, round) != round) "
         "stage_.act(FenceStore{OwnStore::workers});\n")

MUTANTS = (
    Mutant("store", "src/core/store/store_table.cpp",
           "found->second.append(request.payload);  // in place: a value that grows by many small pieces stays cheap\n"
           "  wake_all(request.key, answer);", "found->second.append(request.payload);", ("core/", "io/store")),
    Mutant("static", "src/core/job/ranks.cpp", "a.base_role_rank = role_sizes[member.role];",
           "a.base_role_rank = world_size;", ("core/", "cli/test_static")),
    Mutant("c10d", "src/core/c10d/membership.cpp",
           "const bool last = overdue_ || now.time >= last_call_;", "const bool last = true;",
           ("core/", "cli/test_elastic")),
    Mutant("restarts", "src/core/agent/restart_policy.cpp", "if (restarts < rules_.max_restarts)",
           "if (restarts <= rules_.max_restarts)", ("core/", "cli/test_elastic")),
    Mutant("supervision", "src/io/guard.cpp", "if (::kill(pid, SIGKILL) == 0) killed.insert(pid);",
           "killed.insert(pid);",
           ("cli/test_signals", "cli/test_torture")),
    Mutant("logs", "src/core/logs/line_router.cpp", "if (holds()) give_held(sink);", "(void)sink;",
           ("core/", "cli/test_log")),
    Mutant("options", "src/core/options/options.cpp",
           "->take_last()", "->take_first()", ("core/", "cli/test_options")),
    Mutant("verdict", "src/core/agent/agent.cpp", "if (!final || !event.failure.restart) blame(event.failure, now);",
           "if (final || !event.failure.restart) blame(event.failure, now);", ("core/", "cli/test_verdict")),
    Mutant("membership", "src/core/c10d/membership.cpp", "if (state_.redundancy_list.erase(node) == 0) continue;",
           "if (state_.redundancy_list.erase(node) > 0) continue;", ("core/", "cli/test_membership")),
    *HOST_MUTANTS,
    Mutant("environment", "src/core/config/worker_settings.cpp",
           'set("TORCH_NCCL_ASYNC_ERROR_HANDLING", "1")', 'set("TORCH_NCCL_ASYNC_ERROR_HANDLING", "0")',
           ("interop/test_compare",)),
    Mutant("events", "src/core/events/torchelastic_teller.cpp",
           "!first || (first->kind == Failure::Kind::worker && ranks_);", "!first;",
           ("core/", "interop/test_events")),
    # Of the pure node: its liveness, its table of states, its fences, and what it tells others.
    Mutant("sim-stood-still", "src/core/agent/agent.cpp",
           'return change({"this launch " + what, std::move(cause)}, true, now);',
           'return change({"this launch " + what, std::move(cause)}, false, now);', ("sim/warned",)),
    Mutant("sim-counts-every-change", "src/core/agent/agent.cpp",
           "const auto refusal = state_ == State::running ? policy_.refuses_change() : std::nullopt;",
           "const auto refusal = true ? policy_.refuses_change() : std::nullopt;",
           ("sim/warned", "core/agent_membership")),
    Mutant("sim-grace-of-changes", "src/core/agent/agent.cpp",
           "shorten_grace(event.grace, now);\n"
           "  if (event.excuses",
           "\n"
           "  if (event.excuses", ("sim/warned", "core/agent_membership")),
    Mutant("sim-grace-of-a-lost-store", "src/core/agent/agent.cpp",
           "shorten_grace(event.grace, now);\n"
           "  if (winding_down()) {\n"
           "    if (goes_on()) blame(failure_of_store",
           "\n"
           "  if (winding_down()) {\n"
           "    if (goes_on()) blame(failure_of_store", ("sim/warned",)),
    Mutant("sim-doubt-without-grace", "include/launch/core/session/elastic_session.hpp",
           "stage_.act(LimitGrace{grace()});",
           "", ("sim/whole",)),
    Mutant("sim-endless-grace", "src/core/session/elastic_session.cpp",
           "if (store_.is_by_launch()) return store_.grace();",
           "if (store_.is_by_launch()) return Duration::max();", ("sim/whole",)),
    Mutant("sim-deadline-kept", "src/core/agent/agent.cpp",
           "  if (saves || (state_ == State::stopping && hook_ != AfterHook::runs))\n"
           "    deadline_ = std::min(deadline_, later(now, saves ? time_to_save() : grace_));\n",
           "", ("core/agent_membership",)),
    Mutant("sim-late-fence", "src/core/session/worker_meeting.cpp",
           FENCE + "  auto told = co_await say_master(control, round, *master);\n"
           "  if (!told) co_return told.error();\n",
           "  auto told = co_await say_master(control, round, *master);\n"
           "  if (!told) co_return told.error();\n" + FENCE, ("sim/nap",)),
    Mutant("sim-no-fence", "src/core/session/worker_meeting.cpp",
           FENCE,
           "", ("sim/late",)),
    Mutant("sim-will-taken-back", "include/launch/core/session/elastic_session.hpp",
           "if (untold_) store_.let_will_stand();",
           "", ("sim/late",)),
    Mutant("sim-earlier-wills-taken-back", "src/core/session/static_session.cpp",
           "for (const auto& earlier : earlier_) earlier->let_will_stand();",
           "", ("sim/late",)),
    Mutant("sim-pause-counts-twice", "src/core/agent/agent.cpp",
           "if (state_ == State::pausing && event.failure.restart) return {};",
           "", ("core/agent_restart",)),
    Mutant("sim-pause-ends-early", "src/core/agent/agent.cpp",
           "if (winding_down() || state_ == State::pausing) return {};\n"
           "  if (warning_.signal != 0 && !at_once)",
           "if (winding_down()) return {};\n"
           "  if (warning_.signal != 0 && !at_once)", ("core/agent_restart",)),
    Mutant("sim-change-kept", "src/core/agent/agent.cpp",
           "  warning_ = {};\n"
           "  put_off_.reset();",
           "  warning_ = {};", ("sim/warned",)),
    Mutant("sim-saved-host-waits", "src/core/agent/agent.cpp",
           "if (put_off_) return {finish()};",
           "", ("sim/warned", "core/agent_membership")),
    Mutant("sim-patience-7-10", "src/core/rendezvous/liveness.cpp",
           "(by_majority ? 7 : 9) / 10",
           "7 / 10", ("core/liveness",)),
    Mutant("sim-patience-4-5", "src/core/rendezvous/liveness.cpp",
           "(by_majority ? 7 : 9) / 10",
           "8 / 10", ("core/liveness",)),
    Mutant("sim-patience-9-8", "src/core/rendezvous/liveness.cpp",
           "(by_majority ? 7 : 9) / 10",
           "9 / 8", ("core/elastic_session",)),
    Mutant("sim-silence-without-grace", "src/core/rendezvous/liveness.cpp",
           "plan.interval + plan.patience + plan.grace + timeout / 50",
           "plan.interval + plan.patience + timeout / 50", ("core/static_session",)),
    Mutant("sim-host-looks-early", "src/core/rendezvous/liveness.cpp",
           "return look_ - signs.since >= limit_;",
           "return look_ - signs.since >= limit_ * 9 / 10;", ("core/elastic_session",)),
    Mutant("sim-stall-too-long", "src/core/rendezvous/liveness.cpp",
           "return plan.patience + plan.grace;", "return plan.patience + plan.grace + plan.interval;",
           ("core/liveness",)),
    Mutant("sim-no-second-look", "src/core/rendezvous/liveness.cpp",
           "heard_of_ = now + excuse() - interval_ - patience_;",
           "", ("sim/whole",)),
    Mutant("sim-answers-count-late", "src/core/rendezvous/liveness.cpp",
           "  unanswered_ = false;\n"
           "  answered(sent_);",
           "  unanswered_ = false;\n"
           "  answered(next_);", ("core/liveness",)),
    Mutant("sim-long-look", "src/core/session/host_search.cpp",
           "place_.give_up = later(stage_.moment(), was_silent && !line_.is_by_majority() ? "
           "config_.heartbeat_timeout : look);",
           "place_.give_up = later(stage_.moment(), was_silent && !line_.is_by_majority() ? "
           "config_.heartbeat_timeout : look_at_store);", ("sim/whole",)),
    Mutant("sim-old-answers-heard", "src/core/session/elastic_store.cpp",
           "const bool at_once = place_.by_launch && search_.heartbeat().interval > Duration::zero() && !waits(next);",
           "const bool at_once = false;", ("sim/late",)),
    Mutant("sim-barrier-follows-late", "src/core/agent/agent.cpp",
           "if (first_->restart && (joining || (leaving && !tells))) return start_anew(now);",
           "if (first_->restart && (joining || leaving && false)) return start_anew(now);",
           ("core/agent_restart",)),
    Mutant("sim-warning-kept", "src/core/agent/agent.cpp",
           "  warning_ = {};\n"
           "  put_off_.reset();",
           "  put_off_.reset();", ("sim/warned",)),
    Mutant("sim-ended-node-is-lost", "src/core/c10d/membership.cpp",
           "const bool done = has_ended_well(peer->second.said);",
           "const bool done = false;", ("sim/late",)),
    Mutant("sim-done-for-ever", "src/core/c10d/hosted_rendezvous.cpp",
           "done_ = false;",
           "", ("core/hosted_rendezvous",)),
    Mutant("sim-barrier-keeps-will", "src/core/session/static_session.cpp",
           "watch_->replace_will(will_in_barrier()); });",
           "});", ("sim/late",)),
    Mutant("sim-tells-once-static", "src/core/session/static_session.cpp",
           "if (!first) round_.start(keep_telling());",
           "", ("sim/late",)),
    Mutant("sim-tells-nothing-late", "src/core/session/static_session.cpp",
           "if (untold_) co_await tell_late();",
           "", ("core/static_session",)),
    Mutant("sim-tells-once-c10d", "src/core/session/elastic_session.cpp",
           "if (untold_) late_.start(keep_telling(std::move(failure)));",
           "", ("sim/late",)),
    Mutant("sim-starts-without-a-will", "src/core/session/elastic_session.cpp",
           "  if (!store_.pledge({will})) begin_pledged();",
           "  store_.pledge({will});\n"
           "  begin_pledged();", ("core/elastic_session",)),
    Mutant("sim-news-of-the-last-round", "src/core/node/node.cpp",
           "std::erase_if(inbox_, belongs_to_a_round);",
           "", ("sim/nap",)),
    Mutant("sim-gone-before-told", "src/core/node/node.cpp",
           "held_ = telling_ && std::holds_alternative<AllGone>(event);",
           "held_ = false;", ("sim/late",)),
    Mutant("sim-no-doubt", "include/launch/core/session/elastic_session.hpp",
           "doubted_ = silent && watch_ && !in_barrier_ && may_be_cut_off();",
           "doubted_ = false;", ("sim/warned",)),
    # Of ends that cross a restart, a cut or a loss.
    Mutant("sim-end-not-told-ahead", "src/core/session/static_session.cpp",
           "ends_ahead_ = first && first->restart && !failure.restart;",
           "ends_ahead_ = false;", ("sim/ends",)),
    Mutant("sim-accounts-behind", "src/core/session/static_session.cpp",
           "ExchangePlace place{end_prefix(), nodes_.node_rank,",
           "ExchangePlace place{prefix(), nodes_.node_rank,", ("sim/ends",)),
    Mutant("sim-informed-behind", "src/core/session/static_session.cpp",
           "co_await await_informed(*link, end_prefix(),",
           "co_await await_informed(*link, prefix(),", ("sim/ends",)),
    Mutant("sim-end-not-told-to-the-job", "src/core/session/elastic_session.cpp",
           "first = co_await tell_abort(link, job_prefix(config_.run_id), why, deadline);",
           "", ("sim/ends", "core/elastic_session")),
    Mutant("sim-accounts-of-those-that-go-on", "src/core/session/elastic_session.cpp",
           "if (untold_ || others_go_on_ || gathers_nothing_ || !place.gatherer.known()) co_return own;",
           "if (untold_ || gathers_nothing_ || !place.gatherer.known()) co_return own;", ("sim/ends",)),
    Mutant("sim-those-that-go-on-not-seen-off", "src/core/session/elastic_session.cpp",
           "const Duration patience = failed && !others_go_on_ ? silent_farewell : most;",
           "const Duration patience = failed ? silent_farewell : most;", ("sim/ends",)),
    Mutant("sim-joining-host-does-not-see-others-off", "src/core/session/elastic_session.cpp",
           "others_go_on_ = !watch_ || host_gone_ || first->restart;",
           "others_go_on_ = first->restart;", ("sim/ends",)),
    Mutant("sim-restart-told-twice", "src/core/session/elastic_session.cpp",
           "in_barrier_ = closed_ = untold_ = told_ = host_gone_ = false;",
           "in_barrier_ = closed_ = told_ = host_gone_ = false;", ("sim/ends",)),
    Mutant("sim-others-not-informed-static", "src/core/session/static_session.cpp",
           "if (hosts() && failed) co_await see_others_informed();",
           "", ("sim/ends",)),
    Mutant("sim-others-not-informed-c10d", "src/core/session/elastic_session.cpp",
           "if (link) co_await await_informed(*link, watch_->place().prefix, launch_nodes(), "
           "later(start, quick_answer));",
           "", ("sim/ends",)),
    Mutant("sim-lost-node-waited-for", "src/core/session/dialogs.cpp",
           "if (failure && failure->kind == Failure::Kind::lost) std::erase(nodes, failure->node_rank);",
           "", ("core/dialogs",)),
    Mutant("sim-lost-node-closes", "src/core/session/elastic_session.cpp",
           "const bool lost = watch_ && watch_->lost() && goes_on_without_a_node(config_);",
           "const bool lost = false;", ("sim/ends",)),
    Mutant("sim-node-that-leaves-closes", "src/core/session/elastic_session.cpp",
           "} else if (!left_) {\n    store_.close();",
           "} else {\n    store_.close();", ("sim/ends",)),
    Mutant("sim-loss-after-the-end", "src/core/session/elastic_session.cpp",
           "co_return co_await have_all_ended(stage_, *store_.reached(), watch_->place().prefix);",
           "co_return false;", ("sim/ends",)),
    Mutant("sim-end-of-all-not-awaited", "src/core/session/elastic_session.cpp",
           "} else if (watch_ && (explained || in_barrier)) {",
           "} else if (watch_ && explained) {", ("sim/ends",)),
    Mutant("sim-will-after-the-end", "src/core/session/round_watch.cpp",
           "word.unless = all_ended_key(place.prefix);",
           "word.unless = std::string();", ("sim/ends", "sim/whole")),
    Mutant("sim-old-will-stands", "include/launch/core/session/elastic_store.hpp",
           "will_stands_ = false;  // that was about an earlier will",
           "", ("core/elastic_store",)),
    Mutant("sim-old-will-of-the-connection", "src/core/store/store_table.cpp",
           "(void)take_will(answer.from);",
           "", ("core/store_table",)),
    Mutant("sim-old-will-of-the-claimant", "src/core/store/store_table.cpp",
           "if (!first) wills_.at(std::exchange(latest->second, answer.from)).will = {};",
           "(void)first;", ("core/store_table",)),
    Mutant("sim-old-watch-stays", "src/core/session/static_session.cpp",
           "earlier_.clear();\n  watch_->start_watching",
           "watch_->start_watching", ("core/static_session",)),
    Mutant("sim-host-lost-in-the-barrier", "src/core/session/round_watch.cpp",
           "if (!passed && host_waits_) {",
           "if (false) {", ("sim/ends",)),
    Mutant("sim-host-counts-the-dead", "include/launch/core/session/elastic_session.hpp",
           "store_.left_of_last_round() - 1 : others_;",
           "store_.left_of_last_round() - 1 : others_ + 1;", ("sim/stops",)),
    Mutant("sim-host-forgets-those-of-the-lost-round", "src/core/session/elastic_session.cpp",
           "others_go_on_ = !watch_ || host_gone_ || first->restart;",
           "others_go_on_ = !watch_ || first->restart;", ("sim/stops",)),
    Mutant("sim-host-waits-for-the-dead", "src/core/session/elastic_session.cpp",
           "missing_ ? quick_answer : most_for_end(config_)", "most_for_end(config_)", ("sim/stops",)),
    Mutant("sim-silent-store-ends-who-waits", "src/core/session/elastic_store.cpp",
           "(lost.code == ErrorCode::closed || lost.code == ErrorCode::silent) && !place_",
           "lost.code == ErrorCode::closed && !place_", ("sim/ends",)),
    Mutant("sim-reset-is-told-late", "src/core/session/round_watch.cpp",
           "void RoundWatch::expect_another_round() { watching_.give_up(); }",
           "void RoundWatch::expect_another_round() {}", ("sim/ends",)),
    Mutant("sim-newcomer-closes-the-job", "src/core/session/elastic_session.cpp",
           "if (store_.is_by_launch() || !store_.has_begun() || !watch_) store_.leave",
           "if (store_.is_by_launch()) store_.leave", ("sim/stops",)),
    Mutant("sim-given-up-store-is-asked-once", "src/core/session/listed_places.cpp",
           "  if (is_sure) co_return step;", "  if (is_sure || !is_sure) co_return step;", ("core/listed_places",)),
    Mutant("sim-watch-lost-then-barrier-failed", "src/core/session/round_watch.cpp",
           "if (lost_) co_await learn_what_failed();",
           "", ("core/round_watch",)),
    Mutant("sim-barrier-failed-then-watch-lost", "src/core/session/round_watch.cpp",
           "if (failed_) return watching_.start(learn_what_failed());",
           "", ("core/round_watch",)),
    Mutant("sim-barrier-failed-then-watch-lost-again", "src/core/session/round_watch.cpp",
           "if (failed_) co_return co_await learn_what_failed();",
           "", ("core/round_watch",)),
    Mutant("sim-host-that-waits-lost-in-the-barrier", "src/core/agent/agent.cpp",
           "if (state_ == State::leaving && !event.host_waits) return",
           "if (state_ == State::leaving) return", ("sim/ends",)),
    Mutant("sim-host-waits-for-torchrun-static", "src/core/session/static_session.cpp",
           "if (mixed_) patience = exit_barrier_timeout;",
           "", ("core/static_session",)),
    Mutant("sim-host-waits-for-torchrun-c10d", "src/core/session/elastic_session.cpp",
           "const bool may_wait_in_vain = mixed() && hosts_a_store();",
           "const bool may_wait_in_vain = false;", ("core/elastic_session",)),
    Mutant("sim-host-waits-for-launch-no-longer", "src/core/session/elastic_session.cpp",
           "const bool may_wait_in_vain = mixed() && hosts_a_store();",
           "const bool may_wait_in_vain = true;", ("core/elastic_session",)),
    Mutant("sim-store-lost-after-all-have-come", "src/core/session/dialogs.cpp",
           "if (!outcome && barrier.have_all_come()) co_return BarrierPassed{};",
           "", ("core/dialogs",)),
    Mutant("sim-beats-4", "src/core/rendezvous/liveness.cpp",
           "constexpr int beats_per_timeout = 8;",
           "constexpr int beats_per_timeout = 4;", ("core/liveness",)),
    Mutant("sim-looks-4", "src/core/rendezvous/liveness.cpp",
           "constexpr int looks_per_limit = 20;",
           "constexpr int looks_per_limit = 4;", ("core/liveness",)),
)


def copy_tree():
    """The files of this tree as they are now; what was built from the copy before stays."""
    COPY.mkdir(parents=True, exist_ok=True)
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT,
                            check=True, stdout=subprocess.PIPE, text=True).stdout
    for name in filter(None, listed.split("\0")):
        source, target = ROOT / name, COPY / name
        if not source.is_file():
            continue
        content = in_small_batches(source.read_bytes()) if name == "CMakePresets.json" else source.read_bytes()
        if not (target.is_file() and target.read_bytes() == content):
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
            shutil.copymode(source, target)
    (COPY / "build").mkdir(exist_ok=True)
    if not (COPY / "build/venv").exists():
        (COPY / "build/venv").symlink_to(ROOT / "build/venv")


def in_small_batches(presets):
    """With a file that changes, those of its batch are compiled again."""
    return re.sub(rb'("CMAKE_UNITY_BUILD_BATCH_SIZE": )"\d+"', rb'\1"4"', presets)


def found_by(mutant):
    """Names of tests that fail with it; None if it could not be made or built."""
    path = COPY / mutant.path
    text = path.read_text(encoding="utf-8")
    if text.count(mutant.right) != 1:
        print(f"{mutant.path} has no longer: {mutant.right}")
        return None
    path.write_text(text.replace(mutant.right, mutant.wrong), encoding="utf-8")
    try:
        done = subprocess.run([sys.executable, "tests/suite", *mutant.words], cwd=COPY, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    finally:
        path.write_text(text, encoding="utf-8")
    if "FAILED build" in done.stdout:
        print(done.stdout)
        return None
    again = re.findall(r"^   again: scripts/test (.*)$", done.stdout, re.M)
    return [name for line in again for name in line.split()]


def lost():
    """Those whose line the program has no longer."""
    def text_of(mutant):
        return (ROOT / mutant.path).read_text(encoding="utf-8")

    return [mutant.area for mutant in MUTANTS if text_of(mutant).count(mutant.right) != 1]


def main():
    unknown = set(sys.argv[1:]) - {mutant.area for mutant in MUTANTS}
    if unknown:
        print(f"no mutant is called {', '.join(sorted(unknown))}; there are:", *dict.fromkeys(m.area for m in MUTANTS))
        return 2
    wanted = [mutant for mutant in MUTANTS if not sys.argv[1:] or mutant.area in sys.argv[1:]]
    copy_tree()
    code = 0
    for mutant in wanted:
        names = found_by(mutant)
        code |= not names
        print(f"  {mutant.area}: {'found by ' + ', '.join(names[:4]) if names else 'NOT FOUND'}", flush=True)
    return code


if __name__ == "__main__":
    sys.exit(main())
