//! Huge pages that were touched only by processes that have ended: they are found, and the
//! inspection takes none from the pool, reserves none and allocates none. Where the kernel does not
//! show them, the pools bound where they are.
//!
//! A short Python script creates them, since no test may contain unsafe code.
//!
//! Tests of residency, linux.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::MetadataExt;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use testing::{Need, not_run};

use crate::environments::behind_filter;
use crate::huge_page_pool::{Pool, count};
use crate::laboratory::Laboratory;

const HUGE: u64 = 2 << 20;

/// Number of pages of each object, and how many of them are touched.
const PAGES: u64 = 8;
const TOUCHED: u64 = 3;

/// Creates huge-page objects in every way; for each, a child touches some pages and ends. Prints
/// its process id, and ends at the end of its input.
const MAKE: &str = r"
import ctypes, os, sys
HUGE, SIZE = 2 << 20, 8 * (2 << 20)
libc = ctypes.CDLL(None)
libc.shmat.restype = libc.mmap.restype = ctypes.c_void_p
libc.shmat.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_int]
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
def system_v():
    segment = libc.shmget(0, SIZE, 0o5600)
    at = libc.shmat(segment, None, 0)
    libc.shmctl(segment, 0, None)
    return at
def memfd():
    file = libc.memfd_create(b'huge', 4)
    os.ftruncate(file, SIZE)
    return libc.mmap(None, SIZE, 3, 0x1, file, 0)
def anonymous():
    return libc.mmap(None, SIZE, 3, 0x40021, -1, 0)
for make in (system_v, memfd, anonymous):
    at = make()
    assert at and at != 2 ** 64 - 1, make
    if not os.fork():
        for page in (1, 2, 5):
            ctypes.memset(at + page * HUGE, 1, 1)
        os._exit(0)
    assert os.wait()[1] == 0, make
print(os.getpid(), flush=True)
sys.stdin.read()
";

/// Returns the size of a pool with room for all objects.
fn pages() -> u64 {
    count("nr_hugepages") + 3 * PAGES
}

/// Returns the number of pages in use in every node's pool.
fn pools_in_use() -> Vec<(String, u64)> {
    let nodes = fs::read_dir("/sys/devices/system/node").unwrap();
    let used = nodes.filter_map(|node| {
        let node = node.unwrap();
        let pool = node.path().join("hugepages/hugepages-2048kB");
        let count = |file| -> Option<u64> {
            let text = fs::read_to_string(pool.join(file)).ok()?;
            text.trim().parse().ok()
        };
        let used = count("nr_hugepages")? - count("free_hugepages")?;
        let name = node.file_name().into_string().unwrap();
        Some((name.strip_prefix("node")?.to_owned(), used))
    });
    used.collect()
}

/// Returns the counters of the pool, none of which may change.
fn counters() -> [u64; 4] {
    let files = [
        "nr_hugepages",
        "free_hugepages",
        "resv_hugepages",
        "surplus_hugepages",
    ];
    files.map(count)
}

/// The process that holds the objects, until dropped.
struct Holder(Child);

impl Holder {
    fn start(test: &str) -> Option<Self> {
        let mut command = Command::new("python3");
        command.args(["-c", MAKE]);
        let started = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let Ok(mut child) = started else {
            not_run(test, Need::Package, "it needs python3");
            return None;
        };
        let mut line = String::new();
        let stdout = child.stdout.take().unwrap();
        BufReader::new(stdout).read_line(&mut line).unwrap();
        assert_eq!(line.trim(), child.id().to_string());
        Some(Holder(child))
    }

    /// Returns the length, and the kernel's count of 512-byte units, of every huge-page object.
    fn sizes(&self) -> Vec<(u64, u64)> {
        let directory = format!("/proc/{}/map_files", self.0.id());
        let files = fs::read_dir(directory)
            .unwrap()
            .map(|file| file.unwrap().path());
        let all = files.map(|path| fs::metadata(path).unwrap());
        let huge = all.filter(|status| status.blksize() == HUGE);
        huge.map(|status| (status.len(), status.blocks())).collect()
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

/// Returns the segments of huge pages.
fn segments(residency: &Value) -> Vec<&Value> {
    let all = residency["segments"].as_array().unwrap().iter();
    all.filter(|it| it["page_bytes"] == HUGE).collect()
}

#[test]
fn huge_pages_that_nobody_has_mapped_are_found_and_none_is_made() {
    const NAME: &str = "huge_pages_that_nobody_has_mapped_are_found_and_none_is_made";
    let laboratory = Laboratory::new();
    let Some(_pool) = Pool::set(NAME, &laboratory, pages()) else {
        return;
    };
    let used_before = count("nr_hugepages") - count("free_hugepages");
    let Some(holder) = Holder::start(NAME) else {
        return;
    };
    let (counters_before, sizes_before) = (counters(), holder.sizes());
    let exist = [(PAGES * HUGE, TOUCHED * HUGE / 512); 3];
    assert_eq!(
        sizes_before, exist,
        "three objects, of which the child has touched some"
    );
    let pid = holder.0.id().to_string();
    for _ in 0..3 {
        let found = laboratory.document(&["inspect", &pid, "--json"]);
        assert_eq!(
            (counters(), holder.sizes()),
            (counters_before, sizes_before.clone())
        );
        let segments = segments(&found);
        assert_eq!(segments.len(), 3, "{found:#}");
        for segment in segments {
            let by_node = segment["bytes_by_node"].as_object().unwrap().values();
            let bytes: u64 = by_node.map(|bytes| bytes.as_u64().unwrap()).sum();
            assert_eq!(bytes, TOUCHED * HUGE, "{segment:#}");
            assert_eq!(segment["bytes_without_node"], 0);
            assert_eq!(segment["complete"], true);
        }
        assert_eq!(found["complete"], true, "{:#}", found["gaps"]);
    }
    let used = count("nr_hugepages") - count("free_hugepages");
    assert_eq!(used - used_before, 3 * TOUCHED, "as the pool counts them");
}

#[test]
fn where_the_kernel_does_not_show_them_the_pools_bound_where_they_are() {
    const NAME: &str = "where_the_kernel_does_not_show_them_the_pools_bound_where_they_are";
    /// The system call number of userfaultfd on x86-64.
    const REFUSED: &str = "323";
    let mut filtered = Laboratory::new();
    let laboratory = Laboratory::new();
    let Some(_pool) = Pool::set(NAME, &laboratory, pages()) else {
        return;
    };
    if !behind_filter(NAME, &mut filtered, REFUSED) {
        return;
    }
    let Some(holder) = Holder::start(NAME) else {
        return;
    };
    let bound: serde_json::Map<String, Value> = pools_in_use()
        .into_iter()
        .map(|(node, pages)| (node, (HUGE * TOUCHED.min(pages)).into()))
        .collect();
    let pid = holder.0.id().to_string();
    let found = filtered.document(&["inspect", &pid, "--json"]);
    let segments = segments(&found);
    assert_eq!(segments.len(), 3, "{found:#}");
    for segment in segments {
        assert_eq!(segment["bytes_without_node"], TOUCHED * HUGE);
        assert_eq!(
            segment["unseen_at_most_by_node"],
            Value::from(bound.clone()),
            "{segment:#}"
        );
    }
    let gaps = found["gaps"].to_string();
    for words in [
        "userfaultfd",
        "Operation not permitted",
        "at most 6 MiB on node",
    ] {
        assert!(gaps.contains(words), "{words}: {gaps}");
    }
}
