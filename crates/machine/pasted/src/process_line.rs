//! What a single line says of a process: that a file of it follows, or a line of its numa_maps.

/// The policies that numa_maps begins with after the address (mpol_to_str in mm/mempolicy.c).
const POLICIES: [&str; 6] = [
    "default",
    "bind",
    "interleave",
    "prefer",
    "local",
    "weighted",
];

/// A process as a command line names it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Process {
    /// By its id.
    Id(u32),
    /// By a name that some program looked up.
    Name(String),
}

/// Whether a line is of numa_maps: an address, a policy, then places, counts or nothing.
pub(crate) fn is_numa_maps(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let (Some(address), Some(policy)) = (words.next(), words.next()) else {
        return false;
    };
    // English has words of these letters: an address has a digit.
    let is_address = address.len() >= 6
        && address.chars().all(|it| it.is_ascii_hexdigit())
        && address.chars().any(|it| it.is_ascii_digit());
    let policy = policy.split([':', '=']).next();
    is_address && policy.is_some_and(|it| POLICIES.contains(&it))
}

/// A command that prints a file of a process: `/proc/934/numa_maps`,
/// `/proc/$(pgrep pmon_ORCL)/numa_maps`. Of `/proc/self/status`, `/proc/$P/numa_maps` or a thread
/// nobody knows whose it is, but that it is another one.
pub(crate) fn of_process(line: &str) -> Option<Option<Process>> {
    let (_, rest) = line.split_once("/proc/")?;
    let is_file = rest.contains("/numa_maps") || rest.contains("/status");
    is_file.then(|| process(rest))
}

/// A line before which grep -H put the file that it is of: the process, and the line.
pub(crate) fn with_its_file(line: &str) -> Option<(Process, &str)> {
    let (id, rest) = line.strip_prefix("/proc/")?.split_once('/')?;
    let (file, line) = rest.split_once(':')?;
    let process = Process::Id(id.parse().ok()?);
    (["numa_maps", "status"].contains(&file) && !line.trim().is_empty()).then_some((process, line))
}

/// Whether a command prints only some lines of a file of a process.
pub(crate) fn is_of_part(command: &str) -> bool {
    const PROGRAMS: [&str; 6] = ["awk", "egrep", "grep", "head", "sed", "tail"];
    let is_maps = command.contains("/numa_maps");
    let mut words = command.split([' ', '|', ';']);
    is_maps && words.any(|word| PROGRAMS.contains(&word))
}

fn process(rest: &str) -> Option<Process> {
    let (process, file) = match rest.strip_prefix("$(") {
        Some(command) => {
            let (command, rest) = command.split_once(')')?;
            let name = command.split_whitespace().last()?;
            (Process::Name(name.to_owned()), rest.strip_prefix('/')?)
        }
        None => {
            let (id, rest) = rest.split_once('/')?;
            (Process::Id(id.parse().ok()?), rest)
        }
    };
    let file = file.split([' ', '|', ';', '"', '\'', ':']).next()?;
    ["numa_maps", "status"].contains(&file).then_some(process)
}

/// Whether a line goes on with a line of numa_maps that was wrapped.
pub(crate) fn is_rest_of_maps(line: &str) -> bool {
    const KEYS: [&str; 10] = [
        "N",
        "active",
        "anon",
        "dirty",
        "file",
        "kernelpagesize_kB",
        "mapmax",
        "mapped",
        "swapcache",
        "writeback",
    ];
    let is_field = |word: &str| match word.split_once('=') {
        Some((key, _)) => KEYS.contains(&key.trim_end_matches(|it: char| it.is_ascii_digit())),
        None => ["heap", "stack", "huge"].contains(&word),
    };
    line.contains('=') && line.split_whitespace().all(is_field)
}
