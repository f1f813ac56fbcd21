//! The connections that are open, by client: one client cannot have the places of all, and a
//! connection that has asked for nothing makes room for one that comes later.

use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::task::AbortHandle;

/// How often to look whether all connections are closed.
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// The part of an IPv6 address that tells clients apart: who has a network has all addresses in it.
const NETWORK: u128 = !0 << 64;

/// The open connections.
pub(super) struct Clients {
    connections: usize,
    of_client: usize,
    open: Arc<Mutex<Vec<Open>>>,
    next: u64,
}

struct Open {
    number: u64,
    client: IpAddr,
    asked: Asked,
    task: AbortHandle,
}

/// Whether a connection has asked for something.
#[derive(Clone, Default)]
pub(super) struct Asked(Arc<AtomicBool>);

impl Asked {
    /// It has.
    pub(super) fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Clients {
    /// Creates places for so many connections, and so many of one client.
    pub(super) fn new(connections: u16, of_client: u16) -> Self {
        Clients {
            connections: connections.into(),
            of_client: of_client.into(),
            open: Arc::default(),
            next: 0,
        }
    }

    fn open(&self) -> MutexGuard<'_, Vec<Open>> {
        lock(&self.open)
    }

    /// Whether there is a place for a connection from this address. If need be, the oldest that has
    /// asked for nothing is closed: of this client, if it has its share.
    pub(super) fn make_room(&self, address: IpAddr) -> bool {
        let client = client_of(address);
        let mut open = self.open();
        let of_client = open.iter().filter(|it| it.client == client).count();
        let has_share = of_client >= self.of_client;
        if !has_share && open.len() < self.connections {
            return true;
        }
        let is_idle = |it: &Open| !it.asked.0.load(Ordering::Relaxed);
        let may_go = |it: &Open| is_idle(it) && (!has_share || it.client == client);
        let oldest = open.iter().position(may_go);
        oldest.inspect(|at| open.remove(*at).task.abort()).is_some()
    }

    /// Serves a connection from this address as a task of its own, for which there is room.
    pub(super) fn spawn<F>(&mut self, address: IpAddr, serve: impl FnOnce(Asked) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let asked = Asked::default();
        self.next += 1;
        let place = Place {
            number: self.next,
            open: Arc::clone(&self.open),
        };
        let serving = serve(asked.clone());
        let mut open = self.open();
        let task = tokio::spawn(async move {
            serving.await;
            drop(place);
        });
        open.push(Open {
            number: self.next,
            client: client_of(address),
            asked,
            task: task.abort_handle(),
        });
    }

    /// Waits until all connections are closed.
    pub(super) async fn all_gone(&self) {
        while !self.open().is_empty() {
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }
}

/// The place of a connection, which is free again when this is dropped.
struct Place {
    number: u64,
    open: Arc<Mutex<Vec<Open>>>,
}

impl Drop for Place {
    fn drop(&mut self) {
        lock(&self.open).retain(|it| it.number != self.number);
    }
}

fn lock(open: &Mutex<Vec<Open>>) -> MutexGuard<'_, Vec<Open>> {
    open.lock().unwrap_or_else(PoisonError::into_inner)
}

fn client_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & NETWORK).into(),
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_is_an_address_or_a_network() {
        let check = |address: &str, expected: &str| {
            let found = client_of(address.parse().unwrap());
            assert_eq!(found, expected.parse::<IpAddr>().unwrap(), "{address}");
        };
        check("10.1.2.3", "10.1.2.3");
        check("::ffff:10.1.2.3", "10.1.2.3");
        check("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::");
        check("::1", "::");
    }

    #[test]
    fn who_has_asked_stays_and_who_has_a_share_gets_no_more() {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        runtime.enable_time().build().unwrap().block_on(async {
            let mut clients = Clients::new(3, 2);
            let [one, other, third] =
                ["10.0.0.1", "10.0.0.2", "10.0.0.3"].map(|it| it.parse::<IpAddr>().unwrap());
            let open = |clients: &Clients| -> Vec<(u64, IpAddr)> {
                clients
                    .open()
                    .iter()
                    .map(|it| (it.number, it.client))
                    .collect()
            };
            let for_ever = |has_asked: bool| {
                move |asked: Asked| {
                    has_asked.then(|| asked.set());
                    std::future::pending()
                }
            };
            assert!(clients.make_room(one));
            clients.spawn(one, for_ever(true));
            assert!(clients.make_room(one));
            clients.spawn(one, for_ever(false));
            // Its share: its own idle connection goes, and the other stays.
            assert!(clients.make_room(one));
            clients.spawn(one, for_ever(true));
            assert_eq!(open(&clients), [(1, one), (3, one)]);
            assert!(!clients.make_room(one));
            // Another client has room, and its idle connection makes room for a third.
            assert!(clients.make_room(other));
            clients.spawn(other, for_ever(false));
            assert!(clients.make_room(third));
            clients.spawn(third, for_ever(true));
            assert_eq!(open(&clients), [(1, one), (3, one), (5, third)]);
            // All have asked.
            assert!(!clients.make_room(other));
            clients.open().iter().for_each(|it| it.task.abort());
            clients.all_gone().await;
            assert!(clients.make_room(one));
        });
    }
}
