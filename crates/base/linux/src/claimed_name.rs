//! A name that one process of a machine can hold: a listening socket in the abstract namespace
//! (unix(7)). It needs no file and no permission, vanishes with the process however that ends, and
//! the kernel tells who holds it. Other network namespaces, as of containers, have their own names.

use std::io;
use std::mem::size_of;
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

/// A name that this process holds until the value is dropped or the process ends.
#[derive(Debug)]
pub struct ClaimedName {
    _listening: OwnedFd,
}

/// The result of a claim.
#[derive(Debug)]
pub enum Claim {
    /// The name was free.
    Ours(ClaimedName),
    /// Another process holds it.
    Held {
        /// Its id; `None` where it runs in a PID namespace that this process cannot see.
        pid: Option<u32>,
    },
}

/// Length of the queue of pending connections: the kernel's traditional limit. No connection is
/// ever accepted, and a name whose queue is full is still held.
const WAITING_MAX: i32 = 128;
/// A holder may end between two calls and leave the name free, so claiming is retried.
const TRIES: u32 = 10;

/// Claims a name.
///
/// # Errors
/// When such a socket cannot be created, as under a seccomp filter.
pub fn claim(name: &str) -> io::Result<Claim> {
    let address = SocketAddrUnix::new_abstract_name(name.as_bytes())?;
    for _ in 0..TRIES {
        let socket = socket()?;
        match rustix::net::bind(&socket, &address) {
            Ok(()) => {
                rustix::net::listen(&socket, WAITING_MAX)?;
                return Ok(Claim::Ours(ClaimedName { _listening: socket }));
            }
            Err(Errno::ADDRINUSE) => {}
            Err(error) => return Err(error.into()),
        }
        match rustix::net::connect(&socket, &address) {
            Ok(()) => return Ok(Claim::Held { pid: peer(&socket) }),
            // Its queue is full.
            Err(Errno::AGAIN) => return Ok(Claim::Held { pid: None }),
            // It has ended, or does not listen yet.
            Err(Errno::CONNREFUSED) => std::thread::yield_now(),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(Claim::Held { pid: None })
}

fn socket() -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None);
    Ok(socket?)
}

/// The process that listens at the other end of a connection (`SO_PEERCRED`, unix(7)).
fn peer(socket: &OwnedFd) -> Option<u32> {
    let mut credentials = libc::ucred {
        pid: 0,
        uid: 0,
        gid: 0,
    };
    let mut length = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes, which is the size of `credentials`.
    let answer = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut credentials).cast(),
            &raw mut length,
        )
    };
    let pid = u32::try_from(credentials.pid).ok();
    pid.filter(|pid| answer == 0 && *pid != 0)
}

#[cfg(test)]
mod tests {
    use super::{Claim, claim};

    fn name(what: &str) -> String {
        format!("numalab-test-{}-{what}", std::process::id())
    }

    #[test]
    fn a_name_is_held_by_one_and_free_when_that_one_is_gone() {
        let name = name("one");
        let Claim::Ours(held) = claim(&name).unwrap() else {
            panic!("nobody else has this name");
        };
        for _ in 0..3 {
            let Claim::Held { pid } = claim(&name).unwrap() else {
                panic!("it is held");
            };
            assert_eq!(pid, Some(std::process::id()));
        }
        drop(held);
        assert!(matches!(claim(&name).unwrap(), Claim::Ours(_)));
    }

    #[test]
    fn a_name_whose_queue_is_full_is_held() {
        let name = name("full");
        let held = claim(&name).unwrap();
        let mut last = None;
        // A dropped connection stays in the queue until it is accepted.
        for _ in 0..200 {
            last = Some(claim(&name).unwrap());
        }
        assert!(matches!(last, Some(Claim::Held { pid: None })), "{last:?}");
        drop(held);
    }
}
