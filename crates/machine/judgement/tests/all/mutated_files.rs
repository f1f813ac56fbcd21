//! Damaged files of the kernel, byte by byte: whatever stands in them, topology, inspect and doctor
//! answer or refuse, and never panic, and never find more memory than the files could mean.
//!
//! `PROPTEST_CASES=100000 cargo test --release -p judgement --test all mutated_files` takes
//! longer.

use std::fs;
use std::path::Path;

use judgement::doctor::DoctorInput;
use judgement::findings::of_inspect;
use judgement::plan::diagnose;
use linux::Root;
use proptest::prelude::*;
use residency::{Options, inspect};

/// The files of one process, as a kernel wrote them, and tables beside them.
const FILES: [(&str, &str); 9] = [
    (
        "proc/4242/numa_maps",
        include_str!("../../../residency/tests/article_003/pmon-numa-on.txt"),
    ),
    (
        "proc/4242/maps",
        "60000000-60200000 rw-s 00000000 00:0f 3    /SYSV00000000 (deleted)\n\
         52000000000-52680000000 rw-s 00000000 00:0f 32770    /SYSV85a066e4 (deleted)\n\
         7f13b8600000-7f13b8800000 r-xp 00002000 fe:00 247026    /usr/bin/my db\n",
    ),
    (
        "proc/4242/stat",
        "4242 (ora_pmon_slob) S 1 7 7 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 912 1 2 3 4 5 6 7 8 9 \
         1 2 3 4 6 7 17 11 0 0 0\n",
    ),
    (
        "proc/4242/status",
        "Name:\tora_pmon_slob\nVmPTE:\t96 kB\nCpus_allowed_list:\t0-1\nMems_allowed_list:\t0-1\n",
    ),
    ("proc/4242/cmdline", "ora_pmon_slob\0"),
    ("proc/4242/cgroup", "5:cpuset:/db\n0::/db.slice\n"),
    (
        "proc/4242/smaps_rollup",
        "55e0-7ffd ---p 00000000 00:00 0    [rollup]\nAnonHugePages:  2048 kB\nSwapPss: 4 kB\n",
    ),
    (
        "proc/sysvipc/shm",
        "key shmid perms size cpid lpid nattch uid gid cuid cgid atime dtime ctime rss swap\n\
         -2052037916 32770 1600 4096 7 7 2 0 0 0 0 1 2 3 8192 0\n",
    ),
    (
        "proc/zoneinfo",
        "Node 0, zone Normal\n spanned 40959\n start_pfn: 1\n",
    ),
];

/// One damage.
#[derive(Clone, Debug)]
enum Mutation {
    Set(prop::sample::Index, u8),
    Cut(prop::sample::Index),
    Remove(prop::sample::Index, usize),
    Repeat(prop::sample::Index, usize),
    Insert(prop::sample::Index, &'static str),
}

/// Texts at which parsers stumble.
const STUMBLES: [&str; 10] = [
    "18446744073709551615",
    "-1",
    "99999999999999999999999",
    "\n",
    " ",
    "=",
    "N4294967295=18446744073709551615 ",
    "kernelpagesize_kB=18446744073709551615",
    "\\040",
    "0-65535",
];

fn mutation() -> impl Strategy<Value = Mutation> {
    let at = any::<prop::sample::Index>;
    prop_oneof![
        (at(), any::<u8>()).prop_map(|(at, byte)| Mutation::Set(at, byte)),
        at().prop_map(Mutation::Cut),
        (at(), 1..40_usize).prop_map(|(at, bytes)| Mutation::Remove(at, bytes)),
        (at(), 1..200_usize).prop_map(|(at, bytes)| Mutation::Repeat(at, bytes)),
        (at(), prop::sample::select(&STUMBLES[..]))
            .prop_map(|(at, text)| Mutation::Insert(at, text)),
    ]
}

fn apply(text: &mut Vec<u8>, mutation: &Mutation) {
    if text.is_empty() {
        return;
    }
    let length = text.len();
    let end = |at: usize, bytes: &usize| (at + bytes).min(length);
    match mutation {
        Mutation::Set(at, byte) => text[at.index(length)] = *byte,
        Mutation::Cut(at) => text.truncate(at.index(length)),
        Mutation::Remove(at, bytes) => {
            let at = at.index(length);
            text.drain(at..end(at, bytes));
        }
        Mutation::Repeat(at, bytes) => {
            let at = at.index(length);
            let piece = text[at..end(at, bytes)].to_vec();
            text.splice(at..at, piece);
        }
        Mutation::Insert(at, piece) => {
            let at = at.index(length);
            text.splice(at..at, piece.bytes());
        }
    }
}

fn write(directory: &Path, path: &str, content: &[u8]) {
    let path = directory.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

/// Looks as the commands do; what is answered is only asked to hang together.
fn look(directory: &Path) {
    let root = Root::at(directory).unwrap();
    let Ok(topology) = topology::read(&root) else {
        return;
    };
    for target in ["4242", "oracle:slob", "cgroup:/db", "unit:db"] {
        let found = inspect(
            &root,
            &target.parse().unwrap(),
            &topology,
            &Options::default(),
        );
        let Ok(residency) = found else {
            continue;
        };
        assert!(!residency.complete, "a capture is never complete");
        drop(of_inspect(&residency));
        let input = DoctorInput::read(&root, topology.clone(), Some(residency));
        for finding in input.iter().flat_map(|input| diagnose(input).findings) {
            // A script may rely on these fields of `numalab.doctor/1`.
            let has_all = !finding.evidence.is_empty() && !finding.fix.is_empty();
            assert!(has_all && finding.cost.is_some(), "{finding:?}");
        }
    }
}

#[test]
fn no_damaged_file_makes_it_panic() {
    let mut machine = testing::Tree::captured("two-node").unwrap();
    // The caches of CPUs are many files and have their own test.
    machine
        .remove("sys/devices/system/cpu/cpu0/cache")
        .remove("sys/devices/system/cpu/cpu1/cache");
    for (path, content) in FILES {
        machine.set(path, content);
    }
    let unpacked = machine.expand().unwrap();
    look(unpacked.path());
    let of_machine = [
        "proc/meminfo",
        "sys/devices/system/node/node1/meminfo",
        "sys/devices/system/node/node1/numastat",
        "sys/devices/system/node/node0/distance",
    ];
    let machine = &machine;
    let corpus: Vec<(String, Vec<u8>)> = FILES
        .iter()
        .map(|(path, content)| ((*path).to_owned(), content.as_bytes().to_vec()))
        .chain(of_machine.iter().map(|path| {
            (
                (*path).to_owned(),
                machine.text(path).unwrap().as_bytes().to_vec(),
            )
        }))
        .collect();
    let mutations = (
        any::<prop::sample::Index>(),
        prop::collection::vec(mutation(), 1..6),
    );
    proptest!(|((file, mutations) in mutations)| {
        let (path, content) = file.get(&corpus);
        let mut damaged = content.clone();
        mutations.iter().for_each(|mutation| apply(&mut damaged, mutation));
        write(unpacked.path(), path, &damaged);
        look(unpacked.path());
        write(unpacked.path(), path, content);
    });
}
