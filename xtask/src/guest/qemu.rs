//! QEMU's arguments for a shape. Starts nothing.

use std::path::Path;

use super::architecture::Architecture;
use super::kernel::Kernel;
use super::options::Options;
use super::run_directory::RunDirectory;
use super::shape::{Node, Shape};

/// The arguments of QEMU for one boot.
pub(super) fn arguments(
    options: &Options,
    kernel: &Kernel,
    root: &Path,
    run: &RunDirectory,
) -> Vec<String> {
    let architecture = Architecture::of(options.kernel);
    let mut arguments = Vec::new();
    let mut add = |words: &[&str]| arguments.extend(words.iter().map(|word| word.to_string()));
    add(&[
        "-nodefaults",
        "-no-user-config",
        "-display",
        "none",
        "-vga",
        "none",
        "-no-reboot",
    ]);
    add(&["-serial", &format!("file:{}", escaped(&run.console()))]);
    add(&["-kernel", &kernel.image.display().to_string()]);
    add(&["-initrd", &run.initial_ramdisk().display().to_string()]);
    add(&[
        "-append",
        &kernel_command_line(architecture, &options.append, options.kvm),
    ]);
    for (tag, path, is_writable) in shared_directories(options, root, run) {
        let readonly = if is_writable { "off" } else { "on" };
        let path = escaped(&path);
        add(&[
            "-fsdev",
            &format!(
                "local,id={tag},path={path},security_model=none,readonly={readonly},multidevs=remap"
            ),
        ]);
        add(&[
            "-device",
            &format!("virtio-9p-pci,fsdev={tag},mount_tag={tag}"),
        ]);
    }
    arguments.extend(processor(architecture, options.shape, options.kvm));
    if options.shape.counts_instructions {
        arguments.extend(["-icount", COUNTED].map(String::from));
    }
    let machine = machine(architecture, options.shape, options.memory_mib, options.kvm);
    arguments.extend(machine);
    arguments
}

fn kernel_command_line(architecture: Architecture, append: &str, kvm: bool) -> String {
    // A panic ends the guest at once. Mitigations cost emulated time and protect nobody here.
    let console = architecture.console();
    let mut line = format!("console={console} panic=-1 mitigations=off");
    if !kvm {
        // Without a given delay-loop length, the kernel calibrates it on every CPU against a clock
        // that advances in jumps under emulation; with 32 CPUs that took two thirds of the boot. On
        // a busy host, ticks of the emulated timer come so late that the kernel considers the timer
        // broken and panics ("IO-APIC + timer doesn't work"). Without expedited grace periods, what
        // waits for every CPU (groups, mounts, moves) waits for CPUs that are not running. The
        // emulator translates code once for each address at which it lies: where programs begin at
        // random addresses, every start translates the program and its libraries again, and takes
        // three times as long.
        line.push_str(" lpj=5000000 no_timer_check rcupdate.rcu_expedited=1 norandmaps");
    }
    format!("{line} {append}").trim_end().to_string()
}

/// Returns the 9p mount tags that the scripts in scripts/ mount.
fn shared_directories(
    options: &Options,
    root: &Path,
    run: &RunDirectory,
) -> Vec<(&'static str, Box<Path>, bool)> {
    let mut directories = vec![
        ("root", Box::from(root), false),
        ("programs", Box::from(run.programs()), false),
        ("control", Box::from(run.control()), true),
    ];
    if let Some(share) = &options.share {
        directories.push(("share", Box::from(share.as_path()), true));
    }
    directories
}

/// Escapes a path: QEMU separates the parts of an argument by commas, so a comma in a path is
/// doubled.
fn escaped(path: &Path) -> String {
    path.display().to_string().replace(',', ",,")
}

/// An instruction takes 2^3 ns of the guest, whatever it takes here, and idle time is skipped.
const COUNTED: &str = "shift=3,sleep=off";

/// Returns the accelerator and the CPU model.
fn processor(architecture: Architecture, shape: &Shape, kvm: bool) -> [String; 4] {
    // A thread for each emulated CPU gives real concurrency, which is worth having where the guest
    // has few of them. Eight wait for one another so much that the same tests took 73 s of CPU time
    // on two CPUs (103 s beside other work), and 57 s with one thread that runs all CPUs in turns.
    const MOST_THREADS: u32 = 4;
    let accelerator = match shape.cpus() {
        _ if kvm => "kvm",
        _ if shape.counts_instructions => "tcg,thread=single",
        0..=MOST_THREADS => "tcg,thread=multi",
        _ => "tcg,thread=single",
    };
    let model = match kvm {
        true => "host",
        false => architecture.processor(),
    };
    ["-accel", accelerator, "-cpu", model].map(String::from)
}

fn machine(
    architecture: Architecture,
    shape: &Shape,
    memory_mib: Option<u32>,
    kvm: bool,
) -> Vec<String> {
    let mut arguments = Vec::new();
    let mut add = |option: &str, value: String| arguments.extend([option.to_string(), value]);
    let hmat = if shape.heterogeneous_memory_table {
        ",hmat=on"
    } else {
        ""
    };
    add("-machine", format!("{}{hmat}", architecture.machine()));
    let memory = |node: Node| node.memory_mib().map(|mib| memory_mib.unwrap_or(mib));
    add(
        "-m",
        format!(
            "{}M",
            shape
                .nodes
                .iter()
                .filter_map(|&node| memory(node))
                .sum::<u32>()
        ),
    );
    add("-smp", smp(shape));
    for (id, &node) in shape.nodes.iter().enumerate() {
        let mut declaration = format!("node,nodeid={id}");
        if let Some(mib) = memory(node) {
            add(
                "-object",
                format!("memory-backend-ram,id=memory{id},size={mib}M"),
            );
            declaration.push_str(&format!(",memdev=memory{id}"));
            if shape.heterogeneous_memory_table {
                declaration.push_str(&format!(",initiator={}", nearest_socket(shape, id)));
            }
        }
        add("-numa", declaration);
        if node.is_socket() {
            add("-numa", format!("cpu,node-id={id},socket-id={id}"));
        }
    }
    for from in 0..shape.nodes.len() {
        for to in 0..shape.nodes.len() {
            add(
                "-numa",
                format!(
                    "dist,src={from},dst={to},val={}",
                    (shape.distance)(from, to)
                ),
            );
        }
    }
    if shape.heterogeneous_memory_table {
        latency_and_bandwidth(shape, &mut add);
    }
    later_sockets(shape, kvm, &mut add);
    arguments
}

/// Returns sockets, cores and threads. If a socket is empty, only socket 0 boots by count, and
/// `later_sockets` adds the other CPUs one by one.
fn smp(shape: &Shape) -> String {
    let sockets = shape.nodes.iter().filter(|node| node.is_socket()).count();
    let per_socket = shape.cpus_per_socket();
    let all = u32::try_from(sockets).unwrap_or(u32::MAX) * per_socket;
    let first = if has_empty_socket(shape) {
        per_socket
    } else {
        all
    };
    let (cores, threads) = (shape.cores, shape.threads);
    format!("{first},maxcpus={all},sockets={sockets},cores={cores},threads={threads}")
}

fn has_empty_socket(shape: &Shape) -> bool {
    shape.nodes.contains(&Node::Absent)
}

fn later_sockets(shape: &Shape, kvm: bool, add: &mut impl FnMut(&str, String)) {
    if !has_empty_socket(shape) {
        return;
    }
    let model = if kvm { "host" } else { "max" };
    let is_filled = |node: Node| node.is_socket() && node.is_online();
    let sockets = (1..shape.nodes.len()).filter(|&socket| is_filled(shape.nodes[socket]));
    for socket in sockets {
        for core in 0..shape.cores {
            for thread in 0..shape.threads {
                let place = format!("socket-id={socket},core-id={core},thread-id={thread}");
                add("-device", format!("{model}-x86_64-cpu,{place}"));
            }
        }
    }
}

fn nearest_socket(shape: &Shape, node: usize) -> usize {
    let sockets = (0..shape.nodes.len()).filter(|&socket| shape.nodes[socket].is_socket());
    sockets
        .min_by_key(|&socket| (shape.distance)(socket, node))
        .unwrap_or(0)
}

/// States a latency of ten nanoseconds per unit of distance, and a bandwidth that falls with
/// distance: invented, but consistent with the distance table, as in good firmware.
fn latency_and_bandwidth(shape: &Shape, add: &mut impl FnMut(&str, String)) {
    for from in (0..shape.nodes.len()).filter(|&node| shape.nodes[node].is_socket()) {
        for to in (0..shape.nodes.len()).filter(|&node| shape.nodes[node].memory_mib().is_some()) {
            let distance = (shape.distance)(from, to);
            let way = format!("hmat-lb,initiator={from},target={to},hierarchy=memory");
            add(
                "-numa",
                format!("{way},data-type=access-latency,latency={}", distance * 10),
            );
            add(
                "-numa",
                format!(
                    "{way},data-type=access-bandwidth,bandwidth={}M",
                    102_400 / distance
                ),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::shape::find;
    use super::*;

    fn machine_of(name: &str) -> String {
        machine(Architecture::Amd64, find(name).unwrap(), None, false).join(" ")
    }

    #[test]
    fn every_node_has_its_memory_and_its_socket() {
        let arguments = machine_of("two-node");
        assert!(arguments.contains("-m 2048M"), "{arguments}");
        assert!(
            arguments.contains("-smp 4,maxcpus=4,sockets=2,cores=2,threads=1"),
            "{arguments}"
        );
        assert!(
            arguments.contains("-numa node,nodeid=1,memdev=memory1 "),
            "{arguments}"
        );
        assert!(
            arguments.contains("-numa cpu,node-id=1,socket-id=1"),
            "{arguments}"
        );
        assert!(
            arguments.contains("-numa dist,src=0,dst=1,val=21"),
            "{arguments}"
        );
    }

    #[test]
    fn empty_sockets_are_declared_and_not_filled() {
        let arguments = machine_of("sparse");
        assert!(
            arguments.contains("-smp 2,maxcpus=12,sockets=6"),
            "{arguments}"
        );
        assert!(
            arguments.contains("-numa node,nodeid=1 -numa cpu,node-id=1"),
            "{arguments}"
        );
        assert!(
            !arguments.contains("max-x86_64-cpu,socket-id=1"),
            "{arguments}"
        );
        let last = "max-x86_64-cpu,socket-id=5,core-id=1,thread-id=0";
        assert!(arguments.contains(last), "{arguments}");
    }

    #[test]
    fn a_memory_only_node_has_no_socket_and_a_stated_latency() {
        let arguments = machine_of("memory-only-node");
        assert!(
            arguments.contains("nodeid=2,memdev=memory2,initiator=0"),
            "{arguments}"
        );
        assert!(!arguments.contains("socket-id=2"), "{arguments}");
        assert!(
            arguments.contains("initiator=1,target=2,hierarchy=memory,"),
            "{arguments}"
        );
        assert!(arguments.contains("latency=340"), "{arguments}");
    }

    #[test]
    fn memory_can_be_chosen_and_nodes_without_memory_keep_none() {
        let arguments = machine(
            Architecture::Amd64,
            find("cpu-only-node").unwrap(),
            Some(300),
            false,
        )
        .join(" ");
        assert!(arguments.contains("-m 300M"), "{arguments}");
        assert!(!arguments.contains("memory1"), "{arguments}");
    }

    #[test]
    fn many_cpus_take_turns_on_one_thread() {
        let accelerator =
            |name| processor(Architecture::Amd64, find(name).unwrap(), false)[1].clone();
        assert_eq!(accelerator("two-node"), "tcg,thread=multi");
        assert_eq!(accelerator("four-node-ring"), "tcg,thread=single");
        assert_eq!(accelerator("thirty-two-node"), "tcg,thread=single");
    }

    #[test]
    fn commas_in_paths_are_doubled() {
        assert_eq!(escaped(Path::new("/a,b")), "/a,,b");
    }
}
