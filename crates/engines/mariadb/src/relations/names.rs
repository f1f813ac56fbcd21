//! The names of indexes, which only the server knows, and its own view of its buffer pool.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use server::Error;

use crate::client::Client;

/// What the server says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Said {
    /// Its version.
    pub version: String,
    /// The pages that fit into its pool.
    pub pool_pages: u64,
    /// Names of indexes by id, and whether each is the table itself (clustered).
    pub indexes: BTreeMap<u64, (String, bool)>,
    /// Its tablespaces by id: the name as in its files (`shop/orders`), and their pages.
    pub spaces: BTreeMap<u32, (String, u64)>,
    /// The pages that it has in its pool by its own view, if it was asked for them.
    pub view: Option<View>,
}

/// The server's own view of its pool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct View {
    /// Space and number of each page.
    pub pages: BTreeSet<(u32, u32)>,
    /// Pages of files that it shows without saying which: those that were freed.
    pub unnamed: u64,
}

/// Limits of the answers: names of a million tables, and a view of a pool of 1 TiB, for which the
/// server collects all of its rows first.
const NAMES_WITHIN: Duration = Duration::from_secs(60);
const NAMES_BYTES_MAX: u64 = 512 << 20;
const VIEW_WITHIN: Duration = Duration::from_secs(600);
const VIEW_PAGES_MAX: usize = 1 << 26;

/// The bit of a clustered index (`DICT_CLUSTERED`, dict0mem.h).
const CLUSTERED: u64 = 1;

/// Asks the server.
///
/// # Errors
/// When the user lacks the privilege PROCESS, or an answer is not understood.
pub(super) fn ask(client: &mut Client, with_view: bool) -> Result<Said, Error> {
    const WHAT: &str = "asking for the names of indexes";
    client.limit(NAMES_WITHIN, NAMES_BYTES_MAX);
    let sql = "SELECT INDEX_ID, NAME, TYPE FROM information_schema.INNODB_SYS_INDEXES";
    let mut indexes = BTreeMap::new();
    for row in client.query(sql, WHAT)? {
        let [id, name, kind] = columns(row, WHAT)?;
        let (id, kind): (u64, u64) = (number(&id, WHAT)?, number(&kind, WHAT)?);
        indexes.insert(id, (name, kind & CLUSTERED != 0));
    }
    let version = client.value("SELECT VERSION()", WHAT)?.unwrap_or_default();
    let sql = "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS \
               WHERE VARIABLE_NAME = 'INNODB_BUFFER_POOL_PAGES_TOTAL'";
    let pool_pages = client.value(sql, WHAT)?.unwrap_or_default();
    Ok(Said {
        version,
        pool_pages: number(&pool_pages, WHAT)?,
        indexes,
        spaces: tablespaces(client)?,
        view: with_view.then(|| view(client)).transpose()?,
    })
}

fn tablespaces(client: &mut Client) -> Result<BTreeMap<u32, (String, u64)>, Error> {
    const WHAT: &str = "asking for the tablespaces";
    let sql = "SELECT SPACE, NAME, FILE_SIZE DIV PAGE_SIZE \
               FROM information_schema.INNODB_SYS_TABLESPACES";
    let mut spaces = BTreeMap::new();
    for row in client.query(sql, WHAT)? {
        let [space, name, pages] = columns(row, WHAT)?;
        let pages = number(&pages, WHAT)?;
        spaces.insert(number(&space, WHAT)?, (name, pages));
    }
    Ok(spaces)
}

fn view(client: &mut Client) -> Result<View, Error> {
    const WHAT: &str = "reading INNODB_BUFFER_PAGE";
    // What the server does not know the type of has no space and number there.
    let sql = "SELECT SPACE, PAGE_NUMBER, PAGE_TYPE = 'UNKNOWN' \
               FROM information_schema.INNODB_BUFFER_PAGE WHERE PAGE_STATE = 'FILE_PAGE'";
    let mut found = View::default();
    client.limit(VIEW_WITHIN, u64::MAX);
    client.each_row(sql, WHAT, |row| {
        let [space, page, is_unnamed] = columns(row, WHAT)?;
        if is_unnamed == "1" {
            found.unnamed += 1;
        } else if found.pages.len() < VIEW_PAGES_MAX {
            let page = (number(&space, WHAT)?, number(&page, WHAT)?);
            found.pages.insert(page);
        } else {
            let expected = format!("at most {VIEW_PAGES_MAX} pages");
            return Err(Error::answer(WHAT, expected, "more"));
        }
        Ok(())
    })?;
    Ok(found)
}

fn columns<const COUNT: usize>(
    row: Vec<Option<String>>,
    what: &str,
) -> Result<[String; COUNT], Error> {
    let row: Vec<String> = row.into_iter().map(Option::unwrap_or_default).collect();
    let count = row.len();
    row.try_into()
        .map_err(|_| Error::answer(what, format!("{COUNT} columns"), count.to_string()))
}

fn number<T: std::str::FromStr>(text: &str, what: &str) -> Result<T, Error> {
    let number = text.parse();
    number.map_err(|_| Error::answer(what, "a number", format!("{text:?}")))
}
