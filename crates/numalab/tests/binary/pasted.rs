//! What people already have: pasted text with the figures of published articles, what the script
//! of `numalab capture --script` prints, and archives of other programs.
//!
//! Tests of pasted, judgement, numalab.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::laboratory::Laboratory;
use crate::running::Running;

/// Eight nodes of twenty CPUs, as `numactl --hardware` prints them (Drouvot, 7 January 2015).
fn eight_nodes() -> String {
    let first = |node: u32| match node {
        4 => "0 81-89 120-129".to_owned(),
        0..4 => format!(
            "{}-{},{}-{}",
            10 * node + 1,
            10 * node + 10,
            10 * node + 41,
            10 * node + 50
        ),
        _ => format!(
            "{}-{},{}-{}",
            10 * node + 40,
            10 * node + 49,
            10 * node + 80,
            10 * node + 89
        ),
    };
    let mut text = "> numactl --hardware\navailable: 8 nodes (0-7)\n".to_owned();
    for node in 0..8 {
        let cpus = first(node).replace(',', " ");
        text += &format!("node {node} cpus: {cpus}\nnode {node} size: 132864 MB\n");
        text += &format!("node {node} free: {} MB\n", 40_000 + node);
    }
    text += "node distances:\nnode   0   1   2   3   4   5   6   7\n";
    for from in 0..8_u32 {
        let row = (0..8_u32).map(|to| match (from, to) {
            (from, to) if from == to => "10",
            (from, to) if from / 4 != to / 4 => "22",
            (from, to) if from / 2 == to / 2 => "13",
            _ => "12",
        });
        text += &format!("  {from}:  {}\n", row.collect::<Vec<_>>().join("  "));
    }
    text
}

/// What grep prints of the pools when so many pages of each node are free.
fn pools(free: [u64; 8]) -> String {
    let of_node = |(node, free): (usize, u64)| {
        let path = format!("/sys/devices/system/node/node{node}/meminfo");
        let total = if node == 0 { 39303 } else { 39302 };
        format!(
            "{path}:<strong>Node {node} HugePages_Total</strong>: {total}\n\
             {path}:Node {node} HugePages_Free:  {free}\n\
             {path}:Node {node} HugePages_Surp:      0\n"
        )
    };
    free.into_iter().enumerate().map(of_node).collect()
}

fn finding<'a>(document: &'a Value, id: &str) -> &'a Value {
    let mut findings = document["findings"].as_array().unwrap().iter();
    let found = findings.find(|it| it["id"] == id);
    found.unwrap_or_else(|| panic!("no {id}: {document:#}"))
}

fn doctor(laboratory: &Laboratory, text: &str) -> Value {
    let file = laboratory.file("pasted.txt", text);
    laboratory.document(&["doctor", "--json", "--from", &file])
}

#[test]
fn the_tree_of_lstopo_and_counters_in_megabytes_are_read() {
    let laboratory = Laboratory::new();
    let text = "\
$ lstopo --of console
Machine (31GB total)
  Package L#0
    NUMANode L#0 (P#0 16GB)
    L3 L#0 (20MB)
      L2 L#0 (256KB) + Core L#0
        PU L#0 (P#0)
        PU L#1 (P#2)
    HostBridge
      PCI 00:1f.2 (SATA)
  Package L#1
    NUMANode L#1 (P#1 15GB)
    L3 L#1 (20MB)
      L2 L#1 (256KB) + Core L#1 + PU L#2 (P#1)

Per-node numastat info (in MBs):
                          Node 0          Node 1           Total
                 --------------- --------------- ---------------
Numa_Hit                 8000.00         7000.00        15000.00
Numa_Miss                   0.00          500.00          500.00
Numa_Foreign              500.00            0.00          500.00
Interleave_Hit             10.00           10.00           20.00
Local_Node               7900.00         6900.00        14800.00
Other_Node                100.00          600.00          700.00
";
    let document = doctor(&laboratory, text);
    let parts = document["read_from"]["parts"].as_array().unwrap();
    let parts: Vec<_> = parts
        .iter()
        .map(|it| it["what"].as_str().unwrap())
        .collect();
    assert_eq!(parts, ["lstopo", "numastat -n"], "{document:#}");
    let found = &finding(&document, "allocations-elsewhere")["message"];
    let expected = "since boot, 128000 pages requested on node 0 came from other nodes, and \
                    2048000 from the node itself";
    assert_eq!(found, expected);
    // The same machine by another tool; another one is refused.
    let numactl = "available: 2 nodes (0-1)\nnode 0 cpus: 0 2\nnode 0 size: 16100 MB\n";
    doctor(&laboratory, &format!("{text}{numactl}"));
    let file = laboratory.file("two.txt", format!("{text}node 0 cpus: 0 1\n"));
    let refused = laboratory.run(&["doctor", "--from", &file]).with_code(2);
    assert!(
        refused.stderr.contains("CPUs of node 0"),
        "{}",
        refused.stderr
    );
    // Without its indentation, nothing tells which CPUs are of which node.
    let flat: Vec<&str> = text.lines().map(str::trim).collect();
    let file = laboratory.file("flat.txt", flat.join("\n"));
    let said = laboratory
        .run(&["doctor", "--from", &file])
        .with_code(0)
        .stdout;
    assert!(said.contains("shows no CPUs of nodes"), "{said}");
    let awr = laboratory.file("awr.txt", "<h1>WORKLOAD REPOSITORY report for</h1>\n");
    let said = laboratory
        .run(&["doctor", "--from", &awr])
        .with_code(0)
        .stdout;
    assert!(said.contains("`numalab import`"), "{said}");
}

#[test]
fn huge_pages_far_from_the_cpus_of_the_group_are_found() {
    let laboratory = Laboratory::new();
    let near = pools([23589, 39046, 39047, 39047, 39047, 39047, 39047, 39047]);
    let far = pools([39047, 39046, 39047, 39047, 39047, 39047, 39047, 23557]);
    let group = "<li><em>cpuset.cpus</em>=\u{201c}1\u{2013}9\u{201d}</li>\n";
    let first = format!("{}{group}{near}", eight_nodes());
    let found = doctor(&laboratory, &first);
    let found = finding(&found, "huge-pages-taken");
    assert_eq!(found["severity"], "info");
    let message = found["message"].as_str().unwrap();
    assert!(message.starts_with("15714 of "), "{message}");
    assert!(
        message.contains("on node 0, the node of CPUs 1-9"),
        "{message}"
    );
    let both = doctor(&laboratory, &format!("{first}and then\n{group}{far}"));
    let found = finding(&both, "huge-pages-taken");
    assert_eq!(found["severity"], "error");
    let message = found["message"].as_str().unwrap();
    let expected = "on node 7, at distance 22 from CPUs 1-9 (node 0)";
    assert!(
        message.starts_with("15745 of ") && message.contains(expected),
        "{message}"
    );
}

#[test]
fn latencies_of_lat_mem_rd_show_a_hop_that_flat_distances_hide() {
    let laboratory = Laboratory::new();
    let mut text = "available: 4 nodes (0-3)\n".to_owned();
    for node in 0..4 {
        // A list that a mail wrapped.
        let first = 8 * node;
        text += &format!("node {node} cpus: {first} {} {}\n", first + 1, first + 2);
        let rest = (first + 3..first + 8).map(|cpu| cpu.to_string());
        text += &format!("{}\n", rest.collect::<Vec<_>>().join(" "));
    }
    // Rows that a reader of PDF joined.
    text += "node distances:\nnode 0 1 2 3\n0: 10 21 21 21 1: 21 10 21 21\n\
             2: 21 21 10 21 3: 21 21 21 10\n";
    for (node, ns) in [(0, 53.66), (1, 211.483), (2, 217.169), (3, 248.341)] {
        text += &format!(
            "numactl --membind={node} --cpunodebind=0 ./lat_mem_rd 20 256\n\
             \"stride=256\n0.00049 1.117\n20.00000 {ns}\n"
        );
    }
    let document = doctor(&laboratory, &text);
    let found = finding(&document, "hidden-hop")["message"]
        .as_str()
        .unwrap();
    assert!(found.contains("248 ns from node 0 to node 3"), "{found}");
    let evidence = finding(&document, "hidden-hop")["evidence"].to_string();
    assert!(evidence.contains("what the text shows"), "{evidence}");
    assert_eq!(document["read_from"]["other_lines"], 0, "{document:#}");
}

#[test]
fn memory_that_was_taken_between_two_outputs_is_found() {
    let laboratory = Laboratory::new();
    // Closson, 2007: an SGA of 2.1 GiB on two nodes whose CPUs the output did not have.
    let output = |free: [u32; 2]| {
        format!(
            "SQL> !numactl --hardware\navailable: 2 nodes (0-1)\nnode 0 size: 5119 MB\n\
             node 0 free: {} MB\nnode 1 size: 4095 MB\nnode 1 free: {} MB\n",
            free[0], free[1]
        )
    };
    let text = output([3587, 3956]) + "ORACLE instance started.\n" + &output([1331, 3951]);
    let document = doctor(&laboratory, &text);
    let found = finding(&document, "memory-taken");
    assert_eq!(found["severity"], "warning");
    let message = found["message"].as_str().unwrap();
    assert!(message.starts_with("2.21 GiB were taken"), "{message}");
    assert!(
        message.ends_with("99 % from node 0: a Cyclops"),
        "{message}"
    );
}

#[test]
fn two_machines_in_one_paste_are_refused() {
    let laboratory = Laboratory::new();
    let [one, other] = ["0-7", "0-3"].map(|list| format!("NUMA node0 CPU(s):   {list}\n"));
    let file = laboratory.file("two.txt", one + "and the other host:\n" + &other);
    let refused = laboratory.run(&["doctor", "--from", &file]).with_code(2);
    let expected = "CPUs of node 0: 0-7 at two.txt:1, but 0-3 at two.txt:3";
    refused.says(&["two machines", expected]);
    let file = laboratory.file("letter.txt", "Dear colleague,\n\nhow are you?\n");
    let refused = laboratory.run(&["doctor", "--from", &file]).with_code(2);
    refused.says(&["nothing in letter.txt is recognised"]);
}

/// What the doctor says without what tells where it was read from.
fn said(mut document: Value) -> Value {
    let fields = document.as_object_mut().unwrap();
    for field in ["read_from", "target", "threads"] {
        fields.remove(field);
    }
    document
}

#[test]
fn the_script_prints_what_a_capture_has() {
    let laboratory = Laboratory::new();
    let sleeper = Running::of(Command::new("sleep").arg("1000"));
    let pid = sleeper.pid();
    let archive = laboratory.file("machine.tar.zst", "");
    laboratory.run(&["capture", &archive, &pid]).with_code(0);
    let script = laboratory.run(&["capture", "--script"]).with_code(0).stdout;
    let file = laboratory.file("host.txt", "");
    let mut shell = Command::new("sh")
        .args(["-s", &pid])
        .stdin(Stdio::piped())
        .stdout(File::create(&file).unwrap())
        .spawn()
        .unwrap();
    shell
        .stdin
        .take()
        .unwrap()
        .write_all(script.as_bytes())
        .unwrap();
    assert!(shell.wait().unwrap().success());
    let printed = laboratory.document(&["doctor", "--json", "--from", &file]);
    let parts = &printed["read_from"]["parts"];
    assert_eq!(parts[0]["what"], "files of /sys and /proc", "{parts}");
    let captured = laboratory.document(&["doctor", "--json", "--from", &archive]);
    assert_eq!(said(printed), said(captured));
    laboratory.nothing_is_left();
}

/// A tar archive of a sosreport with one text and one file of the kernel, and what is left alone.
fn sosreport(laboratory: &Laboratory) -> Vec<u8> {
    // A name of more than 100 bytes has an entry of its own before its file.
    let long = format!("sosreport-{}/proc/meminfo", "h".repeat(100));
    let files = [
        (
            "sosreport-h/sos_commands/numa/numactl_--hardware",
            eight_nodes(),
        ),
        (
            "sosreport-h/sys/devices/system/node/node3/numastat",
            "numa_hit 5\nnuma_miss 0\nnuma_foreign 0\n\
             interleave_hit 0\nlocal_node 5\nother_node 0\n"
                .to_owned(),
        ),
        ("sosreport-h/etc/shadow", "root:secret\n".to_owned()),
        (
            &*long,
            "MemTotal: 1062912 kB\nHugepagesize: 2048 kB\n".to_owned(),
        ),
    ];
    let mut archive = tar::Builder::new(Vec::new());
    for (path, text) in &files {
        let mut header = tar::Header::new_gnu();
        header.set_size(text.len() as u64);
        archive
            .append_data(&mut header, path, text.as_bytes())
            .unwrap();
    }
    let mut link = tar::Header::new_ustar();
    link.set_entry_type(tar::EntryType::Symlink);
    link.set_size(0);
    let outside = laboratory.file("outside", "MemTotal: 1 kB\n");
    archive
        .append_link(&mut link, "sosreport-h/proc/vmstat", &outside)
        .unwrap();
    archive.into_inner().unwrap()
}

#[test]
fn a_sosreport_is_read_whatever_compressed_it() {
    let laboratory = Laboratory::new();
    let plain = sosreport(&laboratory);
    let gzip = || {
        let mut to = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        to.write_all(&plain).unwrap();
        to.finish().unwrap()
    };
    let bzip2 = || {
        let mut to = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
        to.write_all(&plain).unwrap();
        to.finish().unwrap()
    };
    let xz = || {
        let options = lzma_rust2::XzOptions::with_preset(1);
        let mut to = lzma_rust2::XzWriter::new(Vec::new(), options).unwrap();
        to.write_all(&plain).unwrap();
        to.finish().unwrap()
    };
    let zstd = || zstd::encode_all(&plain[..], 1).unwrap();
    let forms = [
        ("plain", plain.clone()),
        ("gz", gzip()),
        ("bz2", bzip2()),
        ("xz", xz()),
        ("zst", zstd()),
    ];
    let mut before: Option<Value> = None;
    for (form, bytes) in forms {
        let path = laboratory.file(&format!("report.tar.{form}"), bytes);
        let document = laboratory.document(&["doctor", "--json", "--from", &path]);
        let parts = document["read_from"]["parts"].as_array().unwrap();
        assert_eq!(parts.len(), 2, "{form}: {parts:#?}");
        let remarks = document["read_from"]["remarks"].to_string();
        assert!(!remarks.contains("memory unknown"), "{remarks}");
        let text = document.to_string();
        assert!(!text.contains("secret"), "{form}");
        let same = before.get_or_insert_with(|| document.clone());
        assert_eq!(*same, document, "{form}");
        // An archive that was cut off says so.
        let bytes = std::fs::read(&path).unwrap();
        // A plain one ends inside its first file then, not between two.
        let length = if form == "plain" {
            700
        } else {
            bytes.len() / 2
        };
        let cut = laboratory.file("cut.tar", &bytes[..length]);
        let refused = laboratory.run(&["doctor", "--from", &cut]).with_code(2);
        refused.says(&["cannot read", "cut.tar"]);
    }
}

#[test]
fn a_folder_of_a_bundle_is_read_without_following_links() {
    let laboratory = Laboratory::new();
    let folder = laboratory.file("host", "");
    std::fs::remove_file(&folder).unwrap();
    std::fs::create_dir_all(format!("{folder}/sys/devices/system/node/node0")).unwrap();
    let cpulist = laboratory.file("host/sys/devices/system/node/node0/cpulist", "0-3\n");
    let outside = laboratory.file("outside", "available: 9 nodes (0-8)\n");
    let folder = Path::new(&cpulist).ancestors().nth(6).unwrap();
    std::os::unix::fs::symlink(outside, folder.join("sys/devices/system/node/online")).unwrap();
    std::os::unix::fs::symlink(folder, folder.join("sys/devices/system/node/node1")).unwrap();
    let folder = folder.to_str().unwrap();
    let document = laboratory.document(&["doctor", "--json", "--from", folder]);
    let read = &document["read_from"];
    assert_eq!(read["parts"].as_array().unwrap().len(), 1, "{read:#}");
}

/// A server whose unit binds it to CPUs of node 0 and memory of node 7.
fn bound_server() -> String {
    let stat = "934 (postgres) S 1 934 934 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 100 0 0 0 0 0 0 0 0 0 0 \
                0 0 0 0 0 0 17 1 0 0 0 0 0 0 0 0 0 0 0 0 0";
    let files = [
        ("stat", stat),
        ("cgroup", "0::/system.slice/postgresql@15-main.service"),
        (
            "status",
            "Name:\tpostgres\nTgid:\t934\nPid:\t934\nCpus_allowed_list:\t1-9\n\
             Mems_allowed_list:\t0-7",
        ),
        (
            "numa_maps",
            "7f0000000000 bind:7 anon=262144 dirty=262144 N7=262144 kernelpagesize_kB=4\n\
             7ffc00000000 bind:7 stack anon=4 dirty=4 N7=4 kernelpagesize_kB=4",
        ),
    ];
    let files = files.map(|(name, text)| format!("==> /proc/934/{name} <==\n{text}\n\n"));
    eight_nodes() + &files.concat()
}

#[test]
fn latencies_of_a_text_are_the_distances_of_its_plan() {
    let laboratory = Laboratory::new();
    let mut text = bound_server();
    for node in 0..8 {
        let ns = if node == 0 { 100 } else { 150 + 50 * node };
        text += &format!("==> end <==\nnumactl -m {node} -N 0 ./lat_mem_rd 20 256\n20.0 {ns}\n");
    }
    let plan = doctor(&laboratory, &text)["plan"].clone();
    assert_eq!(plan["distances_by"], "what the text shows", "{plan:#}");
    assert_eq!(plan["before"]["relative_access"], 5.0);
    let path = laboratory.file("pasted.txt", text);
    let said = laboratory
        .run(&["doctor", "--from", &path])
        .with_code(0)
        .stdout;
    assert!(said.contains("at most 80 % of the CPU time"), "{said}");
}

#[test]
fn the_files_of_a_plan_are_written_and_nothing_is_overwritten() {
    let laboratory = Laboratory::new();
    let text = laboratory.file("pasted.txt", bound_server());
    let folder = laboratory.file("plan", "");
    std::fs::remove_file(&folder).unwrap();
    let emit = ["doctor", "--from", &text, "--emit", &folder];
    let said = laboratory.run(&emit).with_code(0);
    said.says(&[
        "wrote ",
        "then: systemctl daemon-reload && systemctl restart",
    ]);
    let unit = "etc/systemd/system/postgresql@15-main.service.d/zz-numa.conf";
    let drop_in = std::fs::read_to_string(format!("{folder}/{unit}")).unwrap();
    assert_eq!(drop_in, "[Service]\nNUMAPolicy=local\n");
    let plan = std::fs::read_to_string(format!("{folder}/numalab-plan.txt")).unwrap();
    for expected in [
        "plan: move 1 GiB of memory to near-cpus",
        "at most 55 % of the CPU time",
        "numalab undo",
    ] {
        assert!(plan.contains(expected), "{plan}");
    }
    let again = laboratory.run(&emit).with_code(2);
    again.says(&["cannot write", "numalab-plan.txt", "File exists"]);
}

#[test]
fn pools_of_an_instance_are_seen_where_most_of_its_machine_is_unknown() {
    let laboratory = Laboratory::new();
    // Hoogland, 2016: a buffer cache on 32 nodes, and one worker whose CPUs are those of node 25.
    let mut text = "$ grep huge /proc/$(pgrep p000_slob)/numa_maps\n".to_owned();
    for node in 0..32 {
        let address = 0x88_8000_0000_u64 + (node << 42);
        let pages = if node == 25 { 50176 } else { 2000 + node };
        text += &format!(
            "{address:x} prefer:{node} file=/SYSV00000000\\040(deleted) huge dirty={pages} \
             N{node}={pages}\n"
        );
    }
    text += "# grep allowed_list /proc/$(pgrep p000_slob)/status\n\
             Cpus_allowed_list:\t450-467,1026-1043\nMems_allowed_list:\t0-31\n\
             # lscpu | grep 450\nNUMA node25 CPU(s):    450-467,1026-1043\n";
    let document = doctor(&laboratory, &text);
    let remarks = document["read_from"]["remarks"].to_string();
    for expected in [
        "p000_slob has no process id in the text: it is shown as 1",
        "shared memory has a pool on each of 32 nodes",
        "the CPUs of some nodes are not in the text: 0-24,26-31",
        "huge pages are taken to have 2 MiB",
    ] {
        assert!(remarks.contains(expected), "{expected}: {remarks}");
    }
    // A node without a list of CPUs in the text is no node without CPUs.
    let findings = document["findings"].to_string();
    assert!(!findings.contains("no CPUs"), "{findings}");
}

/// Two nodes of four CPUs and this much memory, as `numactl --hardware` prints them.
fn two_nodes(size_mb: u64) -> String {
    format!(
        "available: 2 nodes (0-1)\nnode 0 cpus: 0 1 2 3\nnode 0 size: {size_mb} MB\n\
         node 0 free: 900 MB\nnode 1 cpus: 4 5 6 7\nnode 1 size: {size_mb} MB\n\
         node 1 free: 900 MB\nnode distances:\nnode 0 1\n0: 10 21\n1: 21 10\n"
    )
}

#[test]
fn what_a_text_does_not_show_is_no_finding() {
    const SGA: &str = "7f0000000000 default file=/SYSV00000000\\040(deleted) dirty=1000000 \
                       N0=1000000 kernelpagesize_kB=4\n";
    const LOCAL: &str = "7f0000000000 default anon=1000000 dirty=1000000\nN0=1000000 \
                         kernelpagesize_kB=4\n7f1000000000 default anon=90000 N1=90000\n";
    let laboratory = Laboratory::new();
    let maps = |lines: &str| format!("$ cat /proc/934/numa_maps\n{lines}");
    let on_node_0 = "$ cat /proc/934/status\nCpus_allowed_list:\t0-3\nMems_allowed_list:\t0-1\n";
    let of_another = "$ cat /proc/self/status\nCpus_allowed_list:\t4-7\nMems_allowed_list:\t0-1\n";
    let nodes = two_nodes(64_000);
    let texts = [
        // The nodes: nothing says that node 0 has no CPUs.
        maps(SGA),
        // Who may use the memory, and from where.
        format!("{nodes}{}", maps(SGA)),
        // A line that was wrapped has its pages on the next one.
        format!("{nodes}{on_node_0}{}", maps(LOCAL)),
        // The status is that of the shell.
        format!("{nodes}{on_node_0}{}{of_another}", maps(LOCAL)),
        // English words are no addresses.
        format!("{nodes}added default route N1=5\n"),
    ];
    for text in texts {
        let document = doctor(&laboratory, &text);
        let findings = document["findings"].as_array().unwrap().iter();
        let severe: Vec<&Value> = findings.filter(|it| it["severity"] != "info").collect();
        assert!(severe.is_empty(), "{text}{severe:#?}");
    }
    let two_hosts = two_nodes(64_000) + &two_nodes(128_000);
    let file = laboratory.file("two.txt", two_hosts);
    let refused = laboratory.run(&["doctor", "--from", &file]).with_code(2);
    refused.says(&["two machines: kB of memory of node 0"]);
}

#[test]
fn whose_huge_pages_they_are_is_not_guessed_and_no_sum_overflows() {
    let laboratory = Laboratory::new();
    let far = pools([39047, 39046, 39047, 39047, 39047, 39047, 39047, 23557]);
    let list = |pid: u32, cpus: &str| format!("pid {pid}'s current affinity list: {cpus}\n");
    let text = eight_nodes() + &list(7, "1-9") + &list(8, "110-119") + &far;
    let document = doctor(&laboratory, &text);
    assert_eq!(finding(&document, "huge-pages-taken")["severity"], "info");
    let most = "18446744073709551615";
    let text = format!(
        "available: 2 nodes (0-1)\nnode 0 free: {most} MB\nnode 1 free: {most} MB\n\
         available: 2 nodes (0-1)\nnode 0 free: 0 MB\nnode 1 free: 0 MB\n\
         Node 0 HugePages_Total: {most}\nNode 0 HugePages_Free: 0\n\
         Node 1 HugePages_Total: 18446744073709551614\nNode 1 HugePages_Free: 0\n"
    );
    doctor(&laboratory, &text);
}

#[test]
fn a_process_without_an_id_gets_none_in_commands() {
    let laboratory = Laboratory::new();
    let text = format!(
        "{}$ cat numa_maps\n7f0000000000 bind:1 anon=262144 N1=262144 kernelpagesize_kB=4\n\
         Cpus_allowed_list:\t0-3\nMems_allowed_list:\t0-1\n",
        two_nodes(64_000)
    );
    let plan = doctor(&laboratory, &text)["plan"].clone();
    assert_eq!(
        plan["now"][0], "numalab move PID --to near-cpus",
        "{plan:#}"
    );
    // What numactl prints has no file cache, so that nobody knows how much room there is.
    assert_eq!(plan["no_room"], serde_json::json!([]), "{plan:#}");
}

#[test]
fn files_that_grep_names_are_told_apart_and_a_part_of_one_is_said() {
    let laboratory = Laboratory::new();
    let text = two_nodes(64_000)
        + "$ grep -i allowed_list /proc/934/status /proc/1000/status\n\
           /proc/934/status:Cpus_allowed_list:\t0-3\n\
           /proc/934/status:Mems_allowed_list:\t0-1\n\
           /proc/1000/status:Cpus_allowed_list:\t4-7\n\
           /proc/1000/status:Mems_allowed_list:\t0-1\n\
           $ grep anon= /proc/934/numa_maps\n\
           7f1000000000 default anon=1000000 dirty=1000000 N1=1000000 kernelpagesize_kB=4\n";
    let text = text
        .lines()
        .map(|line| format!("+{line}\n"))
        .collect::<String>();
    let found = doctor(&laboratory, &text);
    let far = finding(&found, "memory-far");
    let evidence = far["evidence"].to_string();
    assert!(evidence.contains("Cpus_allowed_list 0-3"), "{far:#}");
    let remarks = found["read_from"]["remarks"].to_string();
    assert!(
        remarks.contains("prints only some lines of numa_maps"),
        "{remarks}"
    );
}
