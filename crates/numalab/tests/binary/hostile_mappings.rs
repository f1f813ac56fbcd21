//! A process that maps far more than there is, at offsets that no memory has, and calls itself
//! mariadbd: what each command takes depends on the pages that exist.
//!
//! Tests of residency, firsttouch, mariadb.

use std::fs;
use std::io::{BufRead, BufReader};

use rustix::fs::{CWD, Mode, mkfifoat};

use crate::laboratory::Laboratory;
use crate::patience::until;
use crate::running::Running;
use crate::unmet_need::is_root;

/// Maps so many GiB of its own, a quarter of that of a file without pages, and a page of that file
/// at an offset of 2^60; touches the first and the last page of each.
const MAPS: &str = "
import ctypes, mmap, os, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
os.chdir(sys.argv[1])
# PR_SET_NAME
libc.prctl(15, b'mariadbd')
fd = os.memfd_create('far')
os.ftruncate(fd, (1 << 60) + mmap.PAGESIZE)
PRIVATE, SHARED, NORESERVE, ANONYMOUS = 2, 1, 0x4000, 0x20
LONG = int(sys.argv[2]) << 30
for flags, fd, length, offset in [
    (PRIVATE | ANONYMOUS, -1, LONG, 0),
    (SHARED, fd, LONG // 4, 0),
    (SHARED, fd, mmap.PAGESIZE, 1 << 60),
]:
    at = libc.mmap(None, length, 3, flags | NORESERVE, fd, offset)
    assert at != ctypes.c_void_p(-1).value, ctypes.get_errno()
    # MADV_NOHUGEPAGE
    libc.madvise(ctypes.c_void_p(at), ctypes.c_size_t(length), 15)
    for page in {0, length - mmap.PAGESIZE}:
        ctypes.memset(at + page, 1, 1)
print('mapped', flush=True)
sys.stdin.read()
";

/// Addresses that numalab may use: a program of Rust with its threads has less than 1 GiB.
const ADDRESSES: &str = "--as=4294967296";

#[test]
fn memory_without_pages_costs_no_command_memory_or_an_endless_look() {
    const TEST: &str = "memory_without_pages_costs_no_command_memory_or_an_endless_look";
    if !is_root(TEST) {
        return;
    }
    let mut laboratory = Laboratory::new();
    laboratory.launch_behind(&["prlimit", ADDRESSES]);
    let data = laboratory.folder().join("data");
    fs::create_dir(&data).unwrap();
    // The first page of a system tablespace, whose pages have 16 KiB.
    let mut first = vec![0; 16 << 10];
    first[24..26].copy_from_slice(&8_u16.to_be_bytes());
    first[54..58].copy_from_slice(&0x15_u32.to_be_bytes());
    fs::write(data.join("ibdata1"), first).unwrap();
    mkfifoat(CWD, data.join("undo001"), Mode::RUSR).unwrap();
    let directory = data.display().to_string();
    let mut server = Running::start_piped(&["python3", "-c", MAPS, &directory, "16384"]);
    let mut mapped = String::new();
    BufReader::new(server.0.stdout.take().unwrap())
        .read_line(&mut mapped)
        .unwrap();
    assert_eq!(mapped, "mapped\n");
    let (pid, target) = (server.pid(), format!("mysql:{directory}"));
    let archive = laboratory.file("archive.tar.zst", "");
    for words in [
        &["inspect", &pid][..],
        &["inspect", &pid, "--numa-maps"],
        &["inspect", &target, "--relations"],
        &["doctor", &pid],
        &["firsttouch", &pid, "--for", "1s"],
        &["capture", &archive, &pid],
    ] {
        laboratory.run(words).with_code(0);
    }
    let far = laboratory.document(&["inspect", &pid, "--json"]);
    let segments = far["segments"].as_array().unwrap();
    let far = segments
        .iter()
        .find(|it| it["name"].as_str().unwrap().starts_with("/memfd:far"));
    let by_node = far.unwrap()["bytes_by_node"].as_object().unwrap().values();
    let bytes: u64 = by_node.map(|it| it.as_u64().unwrap()).sum();
    assert_eq!(bytes, 3 * linux::process::page_bytes(), "{far:#?}");
    until("it is still there", || {
        server.0.try_wait().unwrap().is_none().then_some(())
    });
}
