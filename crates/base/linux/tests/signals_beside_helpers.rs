//! Signals to a process reach its queue, although threads help it with files of /proc and /sys.

use std::error::Error;
use std::thread;
use std::time::Duration;

use linux::group_witness::GroupWitness;
use linux::on_threads;
use linux::signal_queue::{Signal, SignalQueue};
use rustix::process::{Signal as Sent, getpid, kill_process};

fn main() -> Result<(), Box<dyn Error>> {
    // Long enough for every thread that helps to take some.
    on_threads::map(&[(); 64], 1, |()| thread::sleep(Duration::from_millis(1)));
    let queue = SignalQueue::new()?;
    let mut witness = GroupWitness::start()?;
    for sent in [Sent::TERM, Sent::INT, Sent::USR1] {
        kill_process(getpid(), sent)?;
        let expected = Signal {
            number: sent.as_raw(),
            sender: Some(std::process::id()),
        };
        assert_eq!(queue.next(Duration::MAX)?, Some(expected));
        assert!(!witness.saw(expected));
    }
    Ok(())
}
