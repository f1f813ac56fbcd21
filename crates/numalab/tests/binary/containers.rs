//! Where a container's seccomp profile refuses what places memory and says where it is: what needs
//! none of that works, the rest is refused with the way out.
//!
//! The filter is set by a few lines of Python, since no crate may have unsafe code for a test.

use std::process::Command;

use testing::{Need, not_run};

use crate::experiment_file::{ExperimentFile, SMALL};
use crate::laboratory::Laboratory;
use crate::unmet_need::{has_groups, is_root};

/// Has the kernel refuse system calls with EPERM (seccomp(2)), then becomes another program. The
/// arguments: numbers of calls, separated by commas; the program; its arguments.
const FILTER: &str = r"
import ctypes, os, struct, sys
refused = [int(number) for number in sys.argv[1].split(',')]
def instruction(code, if_true, if_false, operand):
    return struct.pack('HBBI', code, if_true, if_false, operand)
LOAD_NUMBER, IF_EQUAL, RETURN = 0x20, 0x15, 0x06
program = [instruction(LOAD_NUMBER, 0, 0, 0)]
for index, number in enumerate(refused):
    program.append(instruction(IF_EQUAL, len(refused) - index, 0, number))
program.append(instruction(RETURN, 0, 0, 0x7fff0000))
program.append(instruction(RETURN, 0, 0, 0x00050001))
code = ctypes.create_string_buffer(b''.join(program))
class Filter(ctypes.Structure):
    _fields_ = [('length', ctypes.c_ushort), ('code', ctypes.c_void_p)]
filter = Filter(len(program), ctypes.addressof(code))
libc = ctypes.CDLL(None)
assert libc.prctl(38, 1, 0, 0, 0) == 0, 'PR_SET_NO_NEW_PRIVS'
assert libc.prctl(22, 2, ctypes.byref(filter), 0, 0) == 0, 'PR_SET_SECCOMP'
os.execvp(sys.argv[2], sys.argv[2:])
";

/// mbind, set_mempolicy and move_pages on x86-64, which Docker's default profile refuses.
const REFUSED: &str = "237,238,279";

/// A numalab in such a container; says that `test` is not run where there can be none.
fn in_a_container(test: &str) -> Option<Laboratory> {
    let mut laboratory = Laboratory::new();
    behind_filter(test, &mut laboratory, REFUSED).then_some(laboratory)
}

/// Runs numalab behind a filter that refuses these calls; says that `test` is not run where there
/// can be none.
pub fn behind_filter(test: &str, laboratory: &mut Laboratory, refused: &str) -> bool {
    if !cfg!(target_arch = "x86_64") {
        not_run(
            test,
            Need::Hardware,
            "its filter of system calls is for x86-64",
        );
        return false;
    }
    if Command::new("python3").args(["-c", ""]).status().is_err() {
        not_run(
            test,
            Need::Package,
            "it needs python3, to set a filter of system calls",
        );
        return false;
    }
    let filter = laboratory.file("filter.py", FILTER);
    laboratory.launch_behind(&["python3", &filter, refused]);
    true
}

#[test]
fn placing_memory_where_that_is_forbidden_is_refused_with_the_way_out() {
    const NAME: &str = "placing_memory_where_that_is_forbidden_is_refused_with_the_way_out";
    let Some(laboratory) = in_a_container(NAME) else {
        return;
    };
    let experiment = ExperimentFile::new("bound", SMALL)
        .case("bound", "allocation = \"bind:first-node\"")
        .case("free", "");
    let path = laboratory.file("bound.toml", experiment.text());
    let refused = laboratory
        .run(&["run", &path, "--seconds", "0.2"])
        .with_code(4);
    refused.says(&["mbind", "not permitted", "docker run --cap-add SYS_NICE"]);
    assert_eq!(laboratory.newest_run()["status"], "failed");
    laboratory.nothing_is_left();
}

#[test]
fn where_memory_lies_is_known_without_the_call_that_tells() {
    const NAME: &str = "where_memory_lies_is_known_without_the_call_that_tells";
    let Some(laboratory) = in_a_container(NAME) else {
        return;
    };
    let experiment = ExperimentFile::new("memfd", SMALL)
        .case("memfd", "")
        .case("segment", "backing = \"sysv\"");
    let path = laboratory.file("free.toml", experiment.text());
    let words = ["run", &path, "--json", "--trials", "5", "--seconds", "0.2"];
    let run = laboratory.document(&words);
    for case in run["cases"].as_array().unwrap() {
        assert_eq!(case["trials_valid"], 5, "{case:#}");
        for trial in case["trials"].as_array().unwrap() {
            let sga = &trial["evidence"]["sga"];
            let by_node = sga["bytes_by_node_after"].as_object().unwrap();
            let bytes: u64 = by_node.values().map(|bytes| bytes.as_u64().unwrap()).sum();
            assert!(bytes >= 1 << 20, "{sga}");
            assert_eq!(sga["bytes_without_node"], 0);
        }
    }
    laboratory.nothing_is_left();
}

#[test]
fn a_policy_for_a_program_is_refused_with_who_refuses_it() {
    const NAME: &str = "a_policy_for_a_program_is_refused_with_who_refuses_it";
    let Some(laboratory) = in_a_container(NAME) else {
        return;
    };
    let refused = laboratory.run(&["bind", "-m", "0", "true"]).with_code(4);
    refused.says(&[
        "set_mempolicy",
        "needs no capability, so the seccomp filter of this process",
        "--cap-add SYS_NICE",
    ]);
    laboratory.run(&["bind", "-C", "all", "true"]).with_code(0);
}

#[test]
fn a_read_only_view_of_cgroups_is_named() {
    const NAME: &str = "a_read_only_view_of_cgroups_is_named";
    if !has_groups(NAME) || !is_root(NAME) {
        return;
    }
    let mut laboratory = Laboratory::new();
    let mount = numa::hierarchy::find(&linux::Root::live()).unwrap().mount;
    let script = format!(
        "mount -o remount,bind,ro {} && exec \"$@\"",
        mount.display()
    );
    laboratory.launch_behind(&["unshare", "--mount", "sh", "-c", &script, "sh"]);
    let refused = laboratory.run(&["group", "create", "x"]).with_code(4);
    refused.says(&[
        "is on a read-only file system, as in a container",
        "--cpuset-cpus",
    ]);
}
