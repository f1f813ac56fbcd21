//! `numalab balance` is killed at random moments: one `undo` restores the policy and the places of
//! all pages.
//!
//! Tests of relocation, journal.

use std::time::{Duration, Instant};

use super::holders::children;
use super::machine_state::{memory, of_machine};
use super::random_kills::{are_made_up_for, undo};
use crate::laboratory::{Laboratory, kill};
use crate::patience::until;
use crate::running::Running;
use crate::unmet_need::is_guest;

/// Holds 16 MiB on node 3; a process on node 0 reads one half, one on node 1 the other, over and
/// over.
const READERS: &str = "
import mmap, os, sys, time
size = 16 << 20
file = os.memfd_create('pool')
os.ftruncate(file, size)
memory = mmap.mmap(file, size)
os.sched_setaffinity(0, {7})
for at in range(0, size, 4096): memory[at] = 1
parent = os.getpid()
for half, cpu in ((0, 0), (1, 2)):
    if os.fork() == 0:
        os.sched_setaffinity(0, {cpu})
        while os.getppid() == parent: memory[half * size // 2:(half + 1) * size // 2:4096]
        os._exit(0)
time.sleep(100000)
";

#[test]
fn a_killed_balance_is_undone() {
    if !is_guest("a_killed_balance_is_undone", "four-node-ring") {
        return;
    }
    let laboratory = Laboratory::new();
    let _settings = super::kernel_setting::KernelSettings::no_transparent_huge_pages();
    let readers = Running::start(&["/usr/bin/python3", "-c", READERS]);
    let pid = readers.pid();
    until("both read", || (children(&pid).len() == 2).then_some(()));
    let pool = || memory(&pid, |line| line.contains("memfd:pool"));
    assert!(pool()[0].ends_with("N3=4096"), "{:?}", pool());
    let state = || [of_machine(&laboratory), pool()].concat();
    let words = ["balance", &pid, "--for", "30", "--json"];

    // One kill is when it is at work; two thirds of the random moments are before that.
    let before = state();
    let began = Instant::now();
    let balance = laboratory.start(&words);
    until("the kernel balances the memory", || {
        pool()[0].contains(" bind=balancing:").then_some(())
    });
    let window = began.elapsed() * 3 / 2 + Duration::from_secs(2);
    balance.kill();
    balance.finish();
    let (undo, undone) = undo(&laboratory);
    undo.with_code(0);
    assert!(undone > 0);
    assert_eq!(state(), before, "after a kill at work");

    are_made_up_for((3, 0), &laboratory, state, |random| {
        let moment = window.mul_f64(random.f64());
        let balance = laboratory.start(&words);
        std::thread::sleep(moment);
        kill(balance.pid());
        let status = balance.finish().status;
        Ok(format!("after {} ms, {status}", moment.as_millis()))
    });
    laboratory.nothing_is_left();
}
