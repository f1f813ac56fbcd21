//! For tests: a load with a loaded SGA to read from.

use model::{Allocation, OwnMemory, SessionLoad};

use super::{Ingredients, Load, make};
use crate::buffer_cache::Reader;
use crate::statement::tests::with_loaded_sga;
use crate::wait_clock::WaitClock;

/// Creates a load of `bytes` bytes and passes it to `check` with a reader.
pub(super) fn with_load(
    load: SessionLoad,
    bytes: u64,
    check: impl FnOnce(&mut dyn Load, &mut Reader<'_>),
) {
    let own = OwnMemory {
        load,
        bytes,
        allocation: Allocation::OsDefault,
    };
    with_loaded_sga(1 << 20, |sga, table| {
        let mut reader = Reader::new(sga, None, 0, WaitClock::new().unwrap());
        let mut made = make(&Ingredients {
            own: &own,
            page_bytes: 4096,
            table,
            seed: 5,
        })
        .unwrap();
        check(made.as_mut(), &mut reader);
    });
}
