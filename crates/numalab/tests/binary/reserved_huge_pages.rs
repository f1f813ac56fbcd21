//! Huge pages that are reserved: free in the kernel's count, and not available.
//!
//! Tests of placement, report, judgement.

use std::io::{BufRead, BufReader};

use crate::huge_page_pool::{Pool, count};
use crate::laboratory::Laboratory;
use crate::running::Running;

/// Maps 8 MiB of huge pages, shared or private, and touches none of them.
const RESERVES: &str = "
import ctypes, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
share = 1 if sys.argv[1] == 'shared' else 2
at = libc.mmap(None, 8 << 20, 3, share | 0x20 | 0x40000, -1, 0)
assert at != ctypes.c_void_p(-1).value, ctypes.get_errno()
print('mapped', flush=True)
sys.stdin.read()
";

#[test]
fn reserved_pages_are_not_available_and_have_a_holder() {
    const TEST: &str = "reserved_pages_are_not_available_and_have_a_holder";
    let laboratory = Laboratory::new();
    let Some(_pool) = Pool::set(TEST, &laboratory, count("nr_hugepages") + 6) else {
        return;
    };
    let free = count("free_hugepages") - count("resv_hugepages");
    for kind in ["shared", "private"] {
        let mut holder = Running::start_piped(&["python3", "-c", RESERVES, kind]);
        let mut mapped = String::new();
        BufReader::new(holder.0.stdout.take().unwrap())
            .read_line(&mut mapped)
            .unwrap();
        assert_eq!(mapped, "mapped\n");
        let asked = format!("{}M", 2 * (free - 3));
        let words = ["pages", "--size", "2M", "--for", &asked, "--placement", "0"];
        let document = laboratory.document(&[&words[..], &["--json"]].concat());
        let need = &document["needs"]["nodes"][0];
        assert_eq!(need["reserved"], 4, "{document:#}");
        assert_eq!(need["total_then"], count("nr_hugepages") + 1, "{need:#}");
        let pid: u64 = holder.pid().parse().unwrap();
        let reservations = document["reservations"].as_array().unwrap();
        let ours = reservations.iter().find(|it| {
            let mut processes = it["processes"].as_array().unwrap().iter();
            processes.any(|it| it["pid"] == pid)
        });
        let ours = ours.unwrap_or_else(|| panic!("{document:#}"));
        assert_eq!(ours["pages"], 4, "{ours:#}");
        let text = laboratory.run(&words).with_code(0).stdout;
        for part in [
            "to set the pools: ",
            "of these reserved",
            "Reserved by",
            &pid.to_string(),
        ] {
            assert!(text.contains(part), "{text}");
        }
        assert!(!text.contains("large enough"), "{text}");
        // The same for a program: with a list of nodes, and without.
        let bytes = format!("{}", (free - 3) << 21);
        for list in [&["--membind", "0"][..], &[]] {
            let bind = [&["bind", "--huge-bytes", &bytes], list, &["--", "true"]].concat();
            let warned = laboratory.run(&bind).with_code(0).stderr;
            assert!(
                warned.contains("free and not reserved"),
                "{bind:?}: {warned}"
            );
        }
        let enough = format!("{}", (free - 4) << 21);
        let quiet = laboratory.run(&["bind", "--huge-bytes", &enough, "--", "true"]);
        assert_eq!(quiet.with_code(0).stderr, "");
    }
    let after = laboratory.document(&["pages", "--json"]);
    assert!(after["reservations"].is_array());
}
