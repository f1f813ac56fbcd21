//! The command line: the tasks and their arguments, nothing about how they work.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::package::Machine;

/// Developer tasks of numalab.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", version = None)]
pub(crate) struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub task: Task,
}

/// The tasks.
#[derive(Debug, Subcommand)]
pub(crate) enum Task {
    /// Run a command on a real kernel with many nodes: an emulated machine (docs/guests.md).
    Guest(GuestArguments),
    /// Build numalab for arm64, and check it on kernels of arm64 in guests with four nodes.
    Arm64(Arm64Arguments),
    /// Write what the kernel says about nodes, CPUs and memory into one text file.
    CaptureTree(CaptureArguments),
    /// Measure a performance claim against a limit or a peer, in one run.
    Bench {
        /// Which one.
        #[arg(value_enum)]
        bench: Bench,
        /// For `move`: only this case.
        #[arg(long, value_name = "CASE")]
        only: Option<String>,
        /// The time for all of it but the build, in seconds, instead of the benchmark's own.
        #[arg(long = "limit-s", value_name = "S", value_parser = seconds)]
        limit: Option<Duration>,
    },
    /// Kill numalab at random moments, any number of times; undo must restore the machine.
    Kills(KillsArguments),
    /// Change the code that decides, place by place, and see whether a test fails.
    Mutants(MutantsArguments),
    /// Make what is handed on: the program with man pages, completions and units, as an archive and
    /// as a Debian package (docs/building.md).
    Package(PackageArguments),
    /// Run a program that ends with whoever started it: benchmarks start peers by it.
    #[command(hide = true)]
    Guard(GuardArguments),
    /// Check the rules of the project that compiler and linter do not know.
    Tidy,
    /// Format, lints, tidy and unit tests: what to run before each commit.
    Check(CheckArguments),
    /// Everything, guests included; installs what guests need when it is root.
    Test(TestArguments),
}

/// The table of benchmarks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Bench {
    /// `numalab bandwidth` against `likwid-bench`, `mbw` and `stress-ng --stream`.
    Bandwidth,
    /// `numalab bind` against `numactl`: the time until a program has started and ended.
    Bind,
    /// What `numalab firsttouch` costs a program that touches pages, and a PostgreSQL that reads.
    FirstTouch,
    /// `numalab inspect` against `numastat -p`: 4 GiB of shared memory in 50 processes.
    Inspect,
    /// `numalab latency` against `lat_mem_rd` and a plain chase, and the time of a curve.
    Latency,
    /// One session of the embedded instance at the plateau, on a 1 GiB cache, and how much of its
    /// time is memory latency.
    LogicalReads,
    /// How long `numalab latency` takes with 300 MiB of last-level cache, against its plan, and
    /// whether the working set that it finds is large enough.
    MatrixTime,
    /// `numalab move` against `migratepages` on the same memory, in an emulated guest.
    Move,
    /// What sessions wait for a page while numalab, `migratepages` or the kernel's balancing moves
    /// it, in an emulated guest.
    MoveStall,
    /// A parallel scan against the read bandwidth measured around it, and against DuckDB.
    ParallelScan,
    /// A session of the embedded instance against one of PostgreSQL, on the same data.
    Postgres,
    /// How long help, `topology` with 1,152 CPUs, `list`, and `history` of 10,000 stored runs take.
    StartUp,
    /// How sure verdicts are: windows in turns against trials one after another, a case against
    /// itself, and differences of known size.
    Verdict,
    /// What `numalab watch` costs with 1,000 processes, and what a PostgreSQL loses beside it.
    Watch,
}

/// Arguments of `cargo xtask guest`.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit status: that of COMMAND; 124 when the guest was killed at the \
    timeout; 125 when the guest itself failed; 130 after Ctrl-C.\n\n\
    Example: cargo xtask guest --shape eight-node -- numactl --hardware"
)]
pub(crate) struct GuestArguments {
    /// The machine to emulate; --list names them.
    #[arg(long, required_unless_present = "list")]
    pub shape: Option<String>,
    /// List the shapes and leave.
    #[arg(long)]
    pub list: bool,
    /// Make sure that PostgreSQL is installed, for scripts with the functions of postgresql.sh.
    #[arg(long)]
    pub postgresql: bool,
    /// How to boot.
    #[command(flatten)]
    pub boot: BootArguments,
    /// The command and its arguments, exactly as given: no shell is put in between.
    #[arg(last = true, required_unless_present = "list")]
    pub command: Vec<String>,
}

/// Arguments of `cargo xtask arm64`.
#[derive(Debug, Args)]
pub(crate) struct Arm64Arguments {
    /// Check the program that was built before.
    #[arg(long)]
    pub built: bool,
}

/// Arguments of `cargo xtask mutants`.
#[derive(Debug, Args)]
pub(crate) struct MutantsArguments {
    /// Only the changes to this file; may be given several times [default: .cargo/mutants.toml].
    #[arg(long = "file", value_name = "FILE")]
    pub files: Vec<String>,
    /// Only part K of N, from 0: one in N of the changes, over all files.
    #[arg(long, value_name = "K/N")]
    pub shard: Option<String>,
    /// List the changes and leave.
    #[arg(long)]
    pub list: bool,
}

/// How a guest is booted, whatever runs in it.
#[derive(Debug, Args)]
pub(crate) struct BootArguments {
    /// Kill the guest after this many seconds.
    #[arg(long, default_value_t = 300)]
    pub timeout: u64,
    /// Memory of each node that has memory, in MiB, instead of the shape's own.
    #[arg(long, value_name = "MIB")]
    pub memory: Option<u32>,
    /// A directory of this host that the guest may write: it appears there as /run/share.
    #[arg(long, value_name = "DIR")]
    pub share: Option<PathBuf>,
    /// The numalab binary for the guest's PATH [default: target/release, else target/debug].
    #[arg(long, value_name = "PATH")]
    pub binary: Option<PathBuf>,
    /// The cgroup version mounted at /sys/fs/cgroup.
    #[arg(long, value_enum, default_value_t = CgroupVersion::V2)]
    pub cgroup: CgroupVersion,
    /// The kernel that it boots.
    #[arg(long, value_enum, default_value_t = GuestKernel::Stable)]
    pub kernel: GuestKernel,
    /// Use hardware virtualisation instead of emulation; it does not work on every host.
    #[arg(long)]
    pub kvm: bool,
    /// More words for the guest's kernel command line, for instance numa_balancing=disable.
    #[arg(long, value_name = "WORDS")]
    pub append: Option<String>,
}

/// The cgroup version that a guest mounts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CgroupVersion {
    /// One hierarchy per controller group, as old distributions have it.
    V1,
    /// The unified hierarchy.
    V2,
}

/// The kernel that a guest boots.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum GuestKernel {
    /// The kernel of Debian 12, 6.1.
    Stable,
    /// The newer kernel of Debian 12's suite bookworm-backports, 6.12.
    Backports,
    /// The kernel of Debian 11, 5.10.
    Oldstable,
    /// That of the backports for arm64, whose machine is emulated; there is no host's root.
    Arm64,
    /// The same with base pages of 16 KiB.
    #[value(name = "arm64-16k")]
    Arm64In16k,
}

/// Arguments of `cargo xtask capture-tree`.
#[derive(Debug, Args)]
pub(crate) struct CaptureArguments {
    /// The file to write; `-` is stdout.
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
    /// Capture a guest of this shape instead of this host.
    #[arg(long)]
    pub shape: Option<String>,
    /// One line that says which machine this is.
    #[arg(long, value_name = "TEXT")]
    pub title: Option<String>,
}

/// Arguments of `cargo xtask kills`.
#[derive(Debug, Args)]
pub(crate) struct KillsArguments {
    /// What is killed: `kills_of_a_sequence` (everything that changes the machine),
    /// `kills_of_balance`, `kills_of_sessions` (of `try` and `predict --dose`), or
    /// `moves_beside_undos` (the two of one target at once).
    #[arg(long, default_value = "kills_of_a_sequence", value_name = "MODULE")]
    pub only: String,
    /// How many times.
    #[arg(long, default_value_t = 200)]
    pub count: u32,
    /// Where the random numbers begin.
    #[arg(long, default_value_t = 1)]
    pub seed: u32,
    /// The kernel of the guest.
    #[arg(long, value_enum, default_value_t = GuestKernel::Stable)]
    pub kernel: GuestKernel,
    /// The numalab binary to run [default: target/debug].
    #[arg(long, value_name = "PATH")]
    pub binary: Option<PathBuf>,
}

/// Arguments of `cargo xtask package`.
#[derive(Debug, Args)]
pub(crate) struct PackageArguments {
    /// The processor that it is for.
    #[arg(long, value_enum, default_value_t = Machine::Amd64)]
    pub architecture: Machine,
    /// Also install, use, upgrade, remove and purge the Debian package in a fresh Debian, start the
    /// program where there is nothing but a busybox, and run lintian; as root, for minutes. For
    /// arm64: run lintian, and try the program in guests.
    #[arg(long = "try")]
    pub trial: bool,
}

/// Arguments of `cargo xtask guard`.
#[derive(Debug, Args)]
pub(crate) struct GuardArguments {
    /// End it after so many seconds.
    #[arg(long = "limit-s", value_name = "S", value_parser = seconds)]
    pub limit: Duration,
    /// The program and its arguments.
    #[arg(last = true, required = true)]
    pub command: Vec<std::ffi::OsString>,
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: Option<f64> = text.parse().ok();
    let limit = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    limit.ok_or_else(|| "expected a number of seconds".to_owned())
}

/// Arguments of `cargo xtask check`.
#[derive(Debug, Args)]
pub(crate) struct CheckArguments {
    /// Only what the changes since a commit concern: the unit tests of the crates that changed and
    /// of those above them, and the tests of the binary that name a crate that changed, in guests
    /// too.
    #[arg(long, value_name = "BASE", num_args = 0..=1, default_missing_value = "HEAD")]
    pub changed: Option<String>,
}

/// Arguments of `cargo xtask test`.
#[derive(Debug, Args)]
pub(crate) struct TestArguments {
    /// Leave the guests out.
    #[arg(long)]
    pub no_guest: bool,
    /// Run only one step (`clippy`), the tests of this machine (`tests`), of guests (`guest`) or of
    /// one (`guest:two-node`), or the long tests (`long`, `long:two-node`).
    #[arg(long, value_name = "NAME")]
    pub only: Option<String>,
    /// Run only tests whose names contain this.
    #[arg(long, value_name = "PART")]
    pub test: Option<String>,
    /// Run the tests of this machine so many times, and list those that failed once.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub repeat: Option<u32>,
    /// With --repeat: beside so many busy loops, and a busy guest if there is one.
    #[arg(long, value_name = "K", default_value_t = 0, requires = "repeat")]
    pub beside: u32,
    /// List what `--only` takes, and leave.
    #[arg(long)]
    pub list: bool,
}
