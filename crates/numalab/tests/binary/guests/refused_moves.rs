//! `numalab move` on four nodes moves nothing without enough room for small or huge pages, without
//! privileges, or if a name does not exist.
//!
//! Tests of relocation.

use std::process::Command;

use rustix::process::Signal;

use super::holders::Holders;
use super::kernel_setting::KernelSettings;
use super::moves::{one_line_says, slow_move};
use crate::laboratory::Laboratory;
use crate::patience::until;
use crate::unmet_need::is_guest;

const SHAPE: &str = "four-node-ring";

#[test]
fn huge_pages_move_only_where_a_pool_has_room() {
    if !is_guest("huge_pages_move_only_where_a_pool_has_room", SHAPE) {
        return;
    }
    let _pools = KernelSettings::huge_pages(0);
    let laboratory = Laboratory::new();
    laboratory.run(&["pages", "--set", "0=8"]).with_code(0);
    let holders = Holders::start(&laboratory, 16, "memfd-huge", 2);
    let to_three = ["move", &holders.pid, "--to", "3", "--shared"];
    let refused = laboratory.run(&to_three).with_code(3);
    one_line_says(&refused, "not enough memory on node 3");
    assert_eq!(holders.nodes(), "N0=8 bind:0");
    laboratory.run(&["pages", "--set", "3=8"]).with_code(0);
    let moved = laboratory.run(&to_three).with_code(0);
    one_line_says(&moved, "new huge pages follow");
    assert_eq!(holders.nodes(), "N3=8 bind:0");
    laboratory.run(&["undo"]).with_code(0);
    assert_eq!(holders.nodes(), "N0=8 bind:0");
    holders.stop();
    // Pages that were in use when their pool became smaller are gone by now.
    laboratory.run(&["undo"]);
    let pools = "cat /sys/devices/system/node/node*/hugepages/hugepages-2048kB/nr_hugepages";
    assert_eq!(laboratory.script(pools).stdout, "0\n".repeat(4));
    laboratory.nothing_is_left();
}

/// A file system that fills a node but for some MiB with a file, which cannot be given up.
struct Full<'l>(&'l Laboratory);

impl<'l> Full<'l> {
    fn node(laboratory: &'l Laboratory, node: u32, but_mib: u32) -> Self {
        let script = format!(
            "mkdir full && mount -t tmpfs -o mpol=bind:{node},size=1g tmpfs full || exit
             free=$(awk '/MemFree|FilePages/ {{ sum += $4 }} /Shmem:/ {{ sum -= $4 }}
                 END {{ print sum }}' /sys/devices/system/node/node{node}/meminfo)
             fallocate -l $((free - {but_mib} * 1024))K full/file"
        );
        laboratory.script(&script).with_code(0);
        Full(laboratory)
    }
}

impl Drop for Full<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount")
            .arg(self.0.folder().join("full"))
            .status();
    }
}

#[test]
fn nothing_moves_to_a_node_without_room() {
    if !is_guest("nothing_moves_to_a_node_without_room", SHAPE) {
        return;
    }
    let laboratory = Laboratory::new();
    let holders = Holders::start(&laboratory, 64, "memfd", 2);
    let _full = Full::node(&laboratory, 3, 40);
    let to_three = ["move", &holders.pid, "--to", "3", "--shared"];
    let refused = laboratory.run(&to_three).with_code(3);
    one_line_says(&refused, "not enough memory on node 3");
    assert_eq!(holders.nodes(), "N0=16384 bind:0");
    laboratory.nothing_is_left();
}

#[test]
fn a_move_without_a_privilege_names_it() {
    if !is_guest("a_move_without_a_privilege_names_it", SHAPE) {
        return;
    }
    let laboratory = Laboratory::new();
    let holders = Holders::start(&laboratory, 64, "memfd", 2);
    let words = format!("numalab move {} --to 1", holders.pid);
    // Only the policy changes: pages that several processes have mapped stay.
    let script = format!("setpriv --bounding-set=-sys_nice {words} --shared");
    let refused = laboratory.script(&script).with_code(6);
    one_line_says(&refused, "which needs CAP_SYS_NICE (EACCES)");
    assert_eq!(holders.nodes(), "N0=16384 prefer:1");
    let refused = laboratory.script(&format!("{script} --json")).with_code(6);
    let by_status = &refused.document()["parts"][0]["bytes_by_node_by_status"];
    assert_eq!(by_status["0"], 64 << 20, "what stayed counts there");
    assert_eq!(by_status["1"].as_u64().unwrap_or(0), 0, "{by_status}");
    laboratory.run(&["undo"]).with_code(0);

    let nobody = "setpriv --reuid=65534 --regid=65534 --clear-groups";
    let refused = laboratory.script(&format!("XDG_STATE_HOME=/nonexistent {nobody} {words}"));
    one_line_says(&refused.with_code(4), "CAP_SYS_PTRACE");
    assert_eq!(holders.nodes(), "N0=16384 bind:0");
    laboratory.nothing_is_left();
}

#[test]
fn what_is_not_there_cannot_move_nor_be_moved_to() {
    if !is_guest("what_is_not_there_cannot_move_nor_be_moved_to", SHAPE) {
        return;
    }
    let laboratory = Laboratory::new();
    let holders = Holders::start(&laboratory, 16, "memfd", 2);
    let refused = |words: &[&str]| {
        let words = [&["move", &holders.pid, "--to"], words].concat();
        laboratory.run(&words).with_code(2);
    };
    refused(&["99"]);
    refused(&["1", "--segment", "nothing"]);
    assert_eq!(holders.nodes(), "N0=4096 bind:0");
    let pid = holders.pid.clone();
    drop(holders);
    laboratory.run(&["move", &pid, "--to", "1"]).with_code(2);
    laboratory.nothing_is_left();
}

#[test]
fn a_node_that_fills_up_amid_a_move_keeps_what_it_got() {
    if !is_guest("a_node_that_fills_up_amid_a_move_keeps_what_it_got", SHAPE) {
        return;
    }
    let laboratory = Laboratory::new();
    let holders = Holders::start(&laboratory, 64, "memfd", 2);
    let mut moving = slow_move(&laboratory, &holders);
    until("a part has moved", || {
        (holders.pages_on(1) >= 512).then_some(())
    });
    // A file that fills a node which others fill at the same time would have the kernel kill a
    // process, and a pool of huge pages leaves what is in pieces: all that is to be moved.
    moving.stop();
    let full = Full::node(&laboratory, 1, 32);
    moving.signal(Signal::CONT);
    let ended = moving.finish();
    let moved = holders.pages_on(1);
    assert!((512..16384).contains(&moved), "{moved}");
    assert_eq!(ended.status.code(), Some(6), "{ended:?}");
    let said = format!("{}{}", ended.stdout, ended.stderr);
    assert!(said.contains("found no room"), "{said}");
    drop(full);
    laboratory.run(&["undo"]).with_code(0);
    assert_eq!(holders.nodes(), "N0=16384 bind:0");
    laboratory.nothing_is_left();
}
