//! `numalab firsttouch` on two nodes: every page is of the node whose CPU touched it first.
//!
//! Tests of firsttouch.

use std::fs;
use std::io::{BufRead, BufReader, Write};

use crate::first_touch::{PAGES, TOUCHES, ended, is_as_the_program_says, looking_at, segment};
use crate::laboratory::Laboratory;
use crate::patience::until;
use crate::running::Running;
use crate::unmet_need::is_guest;

#[test]
fn first_touches_on_two_nodes_are_of_the_right_node() {
    let test = "first_touches_on_two_nodes_are_of_the_right_node";
    if !is_guest(test, "two-node") {
        return;
    }
    let laboratory = Laboratory::new();
    let report = laboratory.file("look.json", "");
    let words = [
        "/usr/bin/python3",
        "-c",
        TOUCHES,
        "memfd",
        "waits",
        "2",
        "0",
    ];
    let mut program = Running::start_piped(&words);
    let pid = program.pid();
    until("the program has its segment", || {
        let maps = fs::read_to_string(format!("/proc/{pid}/maps")).ok()?;
        maps.contains("/memfd:pool").then_some(())
    });
    let look = looking_at(&laboratory, &pid, &report);
    let mut input = program.0.stdin.take().unwrap();
    input.write_all(b"go\n").unwrap();
    let mut pids = String::new();
    let output = program.0.stdout.take().unwrap();
    BufReader::new(output).read_line(&mut pids).unwrap();
    let look = ended(look, &report);
    is_as_the_program_says(&look, "/memfd:pool", &pids);
    let found = segment(&look, "/memfd:pool");
    let touchers = found["touchers"].as_array().unwrap();
    let of_node = |node: u64| {
        let of_it = touchers.iter().filter(|it| it["cpu_node"] == node);
        of_it.map(|it| it["bytes"].as_u64().unwrap()).sum::<u64>()
    };
    let page_bytes = linux::process::page_bytes();
    let expected = [PAGES / 4 * page_bytes, PAGES * 3 / 4 * page_bytes];
    assert_eq!([of_node(0), of_node(1)], expected, "{look:#}");
    // Without a policy, that is where the kernel put them.
    for (node, bytes) in expected.into_iter().enumerate() {
        assert_eq!(found["bytes_by_node"][node.to_string()], bytes, "{look:#}");
    }
    drop(input);
    laboratory.nothing_is_left();
}
