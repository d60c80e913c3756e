#include "launch/io/spawn.hpp"

#include "launch/io/files.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>

#include <fcntl.h>

#include <fmt/format.h>
#include <linux/close_range.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__GLIBC__)
// glibc's own name of clone(). The thread sanitizer takes the public name for a fork: it would do its book-keeping for
// a copied process in this process, and see races ever after.
// NOLINTNEXTLINE(bugprone-reserved-identifier,readability-identifier-naming)
extern "C" int __clone(int (*main)(void*), void* stack, int flags, void* argument, ...);
#endif

namespace launch {
namespace {

// All that the child may touch, made before it exists.
struct ChildPlan {
  const char* executable;
  char* const* argv;
  char* const* env;
  const int* reset_signals;
  std::size_t reset_count;
  const rlimit* open_files;
  const CpuBinding* binding;
  std::array<int, 3> streams;  // negative: stays as it is
  pid_t parent;
  unsigned first_unneeded;  // the child shares our files until it has left behind those from here on; 0: it has copies
  SpawnError failure;
  bool cannot_leave;  // them behind; nothing else was tried
};

// From here to execve: async-signal-safe calls only. The thread that made us sleeps meanwhile, so `plan` is ours. What
// the child's function returns is the child's exit code.
int give_up(ChildPlan& plan, SpawnStage stage, int error) {
  plan.failure = SpawnError{stage, error};
  return 127;
}

void close_descriptors_on_execute() {
  if (::syscall(SYS_close_range, 3U, ~0U, CLOSE_RANGE_CLOEXEC) == 0) return;
  // For Linux before 5.11. No call that is safe here tells which numbers are in use.
  for (int fd = 3; fd < 4096; ++fd) ::fcntl(fd, F_SETFD, FD_CLOEXEC);
}

__attribute__((no_sanitize("thread"))) int child_main(void* argument) {
  ChildPlan& plan = *static_cast<ChildPlan*>(argument);
  if (plan.first_unneeded > 0 && ::syscall(SYS_close_range, plan.first_unneeded, ~0U, CLOSE_RANGE_UNSHARE) != 0) {
    plan.cannot_leave = true;
    return 127;
  }
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || ::getppid() != plan.parent)
    return give_up(plan, SpawnStage::tie, ESRCH);  // the parent died before the signal was armed
  if (::setsid() < 0) return give_up(plan, SpawnStage::session, errno);
  if (plan.open_files->rlim_max != 0 && ::setrlimit(RLIMIT_NOFILE, plan.open_files) != 0)
    return give_up(plan, SpawnStage::limits, errno);
  if (plan.binding != nullptr)
    if (const int error = apply_to_self(*plan.binding); error != 0) return give_up(plan, SpawnStage::binding, error);
  for (int i = 0; i < 3; ++i)
    if (plan.streams[i] >= 0 && ::dup2(plan.streams[i], i) < 0) return give_up(plan, SpawnStage::streams, errno);
  struct sigaction by_default {};
  by_default.sa_handler = SIG_DFL;
  for (std::size_t i = 0; i < plan.reset_count; ++i) ::sigaction(plan.reset_signals[i], &by_default, nullptr);
  // This comes last, because a pending signal would end the child here.
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  close_descriptors_on_execute();
  ::execve(plan.executable, plan.argv, plan.env);
  return give_up(plan, SpawnStage::execute, errno);
}

constexpr std::size_t child_stack_size = std::size_t{64} * 1024;

// The stack for children, one for all that a thread makes, because it is in use only while that thread sleeps.
void* top_of_child_stack() {
  static thread_local void* const base =
      ::mmap(nullptr, child_stack_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  return base == MAP_FAILED ? nullptr : static_cast<char*>(base) + child_stack_size;
}

// The kernel's argument of clone3, with all members that it knows since Linux 5.7.
struct CloneRequest {
  std::uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls, set_tid, set_tid_size, cgroup;
};

// clone() into a control group, for which glibc has no call. The child must not return through our stack, so its
// function is called before anything else is done. Negative if it is not possible, as on other processors.
__attribute__((no_sanitize("thread"))) long clone_into(CloneRequest& request, ChildPlan& plan) {
  int (*const run)(void*) = child_main;
  long result = -ENOSYS;
#if defined(__x86_64__)
  asm volatile(
      "syscall\n\t"
      "testq %%rax, %%rax\n\t"
      "jnz 1f\n\t"
      "movq %[plan], %%rdi\n\t"
      "callq *%[run]\n\t"
      "movl %%eax, %%edi\n\t"
      "movl %[exit], %%eax\n\t"
      "syscall\n\t"
      "hlt\n"
      "1:"
      : "=a"(result)
      : "a"(SYS_clone3), "D"(&request), "S"(sizeof(request)), [run] "r"(run), [plan] "r"(&plan), [exit] "i"(SYS_exit)
      : "rcx", "r11", "memory", "cc");
#endif
  return result;
}

pid_t clone_process(void* stack, int flags, ChildPlan& plan, int& pidfd) {
#if defined(__GLIBC__)
  return ::__clone(child_main, stack, flags, &plan, &pidfd);
#else
  return ::clone(child_main, stack, flags, &plan, &pidfd);
#endif
}

// The child's pid; negative, with errno set, when there is none.
pid_t make_child(ChildPlan& plan, int cgroup, int& pidfd) {
  void* const stack = top_of_child_stack();
  if (stack == nullptr) {
    errno = ENOMEM;
    return -1;
  }
  // CLONE_VFORK: we sleep until the child has executed or ended.
  const int flags = CLONE_VM | CLONE_VFORK | CLONE_PIDFD | (plan.first_unneeded > 0 ? CLONE_FILES : 0);
  if (cgroup >= 0) {
    CloneRequest request{};
    request.flags = static_cast<std::uint64_t>(flags) | std::uint64_t{0x200000000};  // CLONE_INTO_CGROUP
    request.pidfd = reinterpret_cast<std::uintptr_t>(&pidfd);
    request.exit_signal = SIGCHLD;
    request.stack = reinterpret_cast<std::uintptr_t>(stack) - child_stack_size;
    request.stack_size = child_stack_size;
    request.cgroup = static_cast<std::uint64_t>(cgroup);
    const long pid = clone_into(request, plan);
    if (pid > 0) return static_cast<pid_t>(pid);
    // This fails with an older kernel, a filter of system calls, or a kind of group that takes no process. Then the
    // child is made in our group.
  }
  const pid_t pid = clone_process(stack, flags | SIGCHLD, plan, pidfd);
  if (pid >= 0 || errno != EINVAL) return pid;
  // Some who stand in for a kernel, such as qemu-user, know clone() without that flag only.
  return clone_process(stack, (flags & ~CLONE_PIDFD) | SIGCHLD, plan, pidfd);
}

// The same, with a table of files that ends with the slots. Negative if that is not possible.
pid_t make_child_by_slots(ChildPlan& plan, const SpawnRequest& request, int& pidfd) {
  const auto& slots = request.slots;
  if (!slots || !slots->fill(plan.streams)) return -1;
  ChildPlan by_slots = plan;
  by_slots.first_unneeded = slots->end();
  for (std::size_t i = 0; i < plan.streams.size(); ++i)
    if (plan.streams[i] >= 0) by_slots.streams[i] = slots->slot(i);
  const pid_t pid = make_child(by_slots, request.cgroup, pidfd);
  slots->clear();
  if (pid > 0 && !by_slots.cannot_leave) {
    plan.failure = by_slots.failure;
    return pid;
  }
  // This needs Linux 5.9, no filter of system calls that refuses it, and a clone() that knows the flag.
  slots->give_up();
  if (pid < 0) return -1;
  Fd(std::exchange(pidfd, -1)).reset();
  ::waitpid(pid, nullptr, 0);
  return -1;
}

std::vector<char*> pointers(const std::vector<std::string>& strings) {
  std::vector<char*> result;
  result.reserve(strings.size() + 1);
  for (const std::string& text : strings) result.push_back(const_cast<char*>(text.c_str()));
  result.push_back(nullptr);
  return result;
}

}  // namespace

boost::system::result<Spawned, SpawnError> spawn(const SpawnRequest& request) {
  if (!request.script.empty() && ::access(request.script.c_str(), R_OK) != 0)
    return SpawnError{SpawnStage::script, errno};
  const std::vector<char*> argv = pointers(request.argv);
  const std::vector<char*> env = pointers(request.env);
  ChildPlan plan{request.executable.c_str(),
                 argv.data(),
                 env.data(),
                 request.reset_signals.data(),
                 request.reset_signals.size(),
                 &request.open_files,
                 request.binding ? &*request.binding : nullptr,
                 {request.in, request.out, request.err},
                 ::getpid(),
                 0,
                 SpawnError{},
                 false};
  int pidfd = -1;  // stays so if the kernel does not know CLONE_PIDFD, which is Linux before 5.2
  pid_t pid = make_child_by_slots(plan, request, pidfd);
  if (pid < 0) pid = make_child(plan, request.cgroup, pidfd);
  if (pid < 0) return SpawnError{SpawnStage::clone, errno};
  Fd owned(pidfd);
  if (plan.failure.error != 0) {
    ::waitpid(pid, nullptr, 0);
    return plan.failure;
  }
  if (!owned.valid()) owned = Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  return Spawned{pid, std::move(owned)};
}

void take_back(const Spawned& spawned) {
  ::kill(-spawned.pid, SIGKILL);
  ::waitpid(spawned.pid, nullptr, 0);
}

namespace {

const char* doing(SpawnStage stage) {
  switch (stage) {
    case SpawnStage::script:
      return "reading it";
    case SpawnStage::clone:
      return "making a process";
    case SpawnStage::tie:
      return "tying it to launch";
    case SpawnStage::session:
      return "giving it a session";
    case SpawnStage::limits:
      return "restoring its limit of open files";
    case SpawnStage::binding:
      return "binding it to its processors";
    case SpawnStage::streams:
      return "redirecting its input and output";
    case SpawnStage::execute:
      return "executing it";
  }
  return "starting it";
}

// What a file that was edited elsewhere may have: the kernel takes the carriage return for a part of the name.
bool has_carriage_return(const std::string& file) {
  const std::string line = read_file(file, 256);
  return line.starts_with("#!") && line.find('\r') < line.find('\n');
}

std::string advice(const SpawnError& error, const std::string& file) {
  struct stat info {};
  const bool exists = ::stat(file.c_str(), &info) == 0;
  switch (error.error) {
    case ENOENT:
      if (exists && has_carriage_return(file))
        return "; its first line ends with a carriage return (CRLF, as on Windows): convert it, as with dos2unix";
      return exists ? "; the file is there, but not what runs it: the interpreter in its first line, or the loader of "
                      "its C library"
                    : "; the path must be valid on every node";
    case EACCES:
      if (exists && S_ISDIR(info.st_mode)) return "; it is a folder";
      if (exists && error.stage == SpawnStage::execute && (info.st_mode & 0111U) != 0)
        return "; it may be on a file system that is mounted with noexec, or in a folder that you may not enter";
      return fmt::format("; try chmod {} {}", error.stage == SpawnStage::script ? "+r" : "+x", file);
    case ENOEXEC:
      return "; a script needs a first line such as #!/bin/sh, a program must be built for this machine";
    case E2BIG:
      return "; the arguments and the environment together are too long";
    case EAGAIN:
      return "; the limit of processes is reached (ulimit -u, or pids.max of the control group)";
    case EMFILE:
    case ENFILE:
      return "; the limit of open files is reached (ulimit -n)";
    default:
      return {};
  }
}

}  // namespace

std::string explain(const SpawnError& error, const SpawnRequest& request) {
  const std::string& file = error.stage == SpawnStage::script ? request.script : request.executable;
  return fmt::format("cannot start {}, {} failed: {}{}", file, doing(error.stage), std::strerror(error.error),
                     advice(error, file));
}

int exit_code(const SpawnError& error) {
  const bool file = error.stage == SpawnStage::execute || error.stage == SpawnStage::script;
  return file && (error.error == ENOENT || error.error == ENOTDIR) ? 127 : 126;
}

}  // namespace launch
