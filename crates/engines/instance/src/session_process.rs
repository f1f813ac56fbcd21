//! The process of a session: attaches the SGA, waits at the barrier, works, and waits to be read.
//! Workers of parallel scans and database writers start the same way.

use std::sync::atomic::Ordering;
use std::time::Duration;

use linux::data_file::DataFile;
use linux::shared_memory::{Mapping, SharedMemory};

use crate::buffer_cache::Reader;
use crate::emulated_cost::ReadCost;
use crate::handicap::Handicap;
use crate::layout::SessionState;
use crate::loads::{self, Ingredients, Load};
use crate::order::{Role, SessionOrder, TicketWord};
use crate::session::{Session, execute};
use crate::sga::Sga;
use crate::statement::Table;
use crate::storage::Storage;
use crate::wait_clock::WaitClock;
use crate::{Error, failure, scan_worker, writer};

/// Runs one session to its end.
///
/// # Errors
/// When the session cannot run; the instance notices that the process ended.
pub fn run(order: &SessionOrder) -> Result<(), Error> {
    linux::process::die_with_parent(order.parent_pid).map_err(|cause| Error::Io {
        what: "prctl(PR_SET_PDEATHSIG)",
        cause,
    })?;
    if let Some(cpus) = &order.cpus {
        linux::affinity::bind_this_thread(cpus)?;
    }
    check(order)?;
    let map = |ticket: TicketWord, bytes: u64| -> Result<Mapping, Error> {
        let mapping = SharedMemory::from_ticket(ticket.into(), bytes as usize)?.map()?;
        mapping.populate_for_reading()?;
        Ok(mapping)
    };
    let mapping = map(order.ticket, order.layout.bytes)?;
    let mut sga = Sga::attach(&mapping, order.layout)?;
    let own_bytes = order.layout.own_part_bytes();
    let own_part = order.own_part.map(|ticket| map(ticket, own_bytes));
    let own_part = own_part.transpose()?;
    if let Some(own_part) = &own_part {
        sga = sga.with_own_part(own_part);
    }
    let cost = order.cost.as_ref();
    let map = cost
        .map(|cost| map(cost.map, u64::from(cost.pages)))
        .transpose()?;
    let cost = cost.zip(map.as_ref());
    let cost = cost.map(|(cost, map)| ReadCost::new(cost, map, &order.layout));
    let result = work(sga, &mapping, order, cost);
    if let Err(error) = &result {
        failure::leave(&sga.slots[order.session as usize], error);
    }
    result
}

/// Rejects a slot or a pool that the SGA does not have.
fn check(order: &SessionOrder) -> Result<(), Error> {
    let SessionOrder {
        session, layout, ..
    } = order;
    let is_in_order = match order.role {
        Role::Writer { pool } => *session < layout.processes() && pool < layout.pools,
        Role::Statements { .. } => *session < layout.tables,
        Role::Scan { .. } => *session < layout.sessions && layout.column_blocks > 0,
    };
    match is_in_order {
        true => Ok(()),
        false => Err(Error::Layout(format!(
            "it has no place for session {session} as {:?}",
            order.role
        ))),
    }
}

/// Does everything after attaching the SGA, where failures can be recorded.
fn work<'m>(
    sga: Sga<'m>,
    mapping: &'m Mapping,
    order: &SessionOrder,
    cost: Option<ReadCost<'m>>,
) -> Result<(), Error> {
    let storage = match order.data {
        Some(ticket) => {
            let file = DataFile::from_ticket(ticket.into())?;
            Some(Storage::new(mapping, file))
        }
        None => None,
    };
    let home_pool = sga.layout.home_pool(order.session);
    let waits = WaitClock::new()?;
    let load = own_load(&sga, order)?;
    sga.set_state(order.session, SessionState::Ready);
    wait_for_start(&sga);
    sga.set_state(order.session, SessionState::Running);
    let reader = |storage| Reader::new(sga, storage, home_pool, waits);
    match (order.role, storage) {
        (
            Role::Statements {
                update_pct,
                handicap_pct,
            },
            storage,
        ) => {
            let mut session = Session::new(sga, reader(storage), load, order, update_pct);
            session.handicap = Handicap::of_percent(handicap_pct);
            session.reader.cost = cost;
            execute(&mut session)?;
            // The session keeps its own memory for as long as it lives.
            wait_to_be_read(&sga, order.session);
        }
        (Role::Scan { stealing }, storage) => {
            scan_worker::run(sga, reader(storage), order.session, stealing)?;
            wait_to_be_read(&sga, order.session);
        }
        (Role::Writer { pool }, Some(storage)) => {
            writer::run(sga, &storage, pool)?;
            sga.set_state(order.session, SessionState::Finished);
            wait_to_be_read(&sga, order.session);
        }
        (Role::Writer { .. }, None) => {
            return Err(Error::Protocol {
                what: "database writer",
                cause: "it has no data file".to_owned(),
            });
        }
    }
    Ok(())
}

/// Creates the load that replaces reading rows, and publishes where its memory is.
fn own_load(sga: &Sga<'_>, order: &SessionOrder) -> Result<Option<Box<dyn Load>>, Error> {
    let Some(own) = &order.own else {
        return Ok(None);
    };
    let load = loads::make(&Ingredients {
        own,
        page_bytes: order.page_bytes,
        table: Table::of(&order.layout, order.session),
        seed: order.seed,
    })?;
    if let Some((address, bytes)) = load.memory() {
        let told = &sga.slots[order.session as usize].own_memory.0;
        told.address.store(address as u64, Ordering::Release);
        told.bytes.store(bytes as u64, Ordering::Release);
    }
    Ok(Some(load))
}

/// Waits until the instance has read what the kernel reports about this process.
fn wait_to_be_read(sga: &Sga<'_>, session: u32) {
    let state = &sga.slots[session as usize].live.0.state;
    if state.load(Ordering::Relaxed) != SessionState::Finished as u32 {
        return;
    }
    let stop = &sga.control.gate.0.stop;
    while stop.load(Ordering::Acquire) == 0 {
        linux::futex::wait(stop, 0, Some(Duration::from_secs(1)));
    }
}

fn wait_for_start(sga: &Sga<'_>) {
    let start = &sga.control.gate.0.start;
    while start.load(Ordering::Acquire) == 0 {
        linux::futex::wait(start, 0, Some(Duration::from_secs(1)));
    }
}
