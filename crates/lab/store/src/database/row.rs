//! A row of an answer. A value of another type than expected is damage that is named.

use rusqlite::types::ValueRef;
use tokio_postgres::types::Type;

use crate::Error;
use crate::database::Value;
use crate::error::damaged;
use crate::place::Place;

/// A row of an answer.
pub(crate) enum Row<'r> {
    File(&'r Place, &'r rusqlite::Row<'r>),
    Server(&'r Place, &'r tokio_postgres::Row),
}

impl Row<'_> {
    /// The text in a column.
    pub(crate) fn text(&self, column: usize) -> Result<&str, Error> {
        let text = self.optional_text(column)?;
        text.ok_or_else(|| {
            damaged(
                self.place(),
                format!("column {column} of a row has no text"),
            )
        })
    }

    /// The text in a column, if there is any.
    pub(crate) fn optional_text(&self, column: usize) -> Result<Option<&str>, Error> {
        match self {
            Row::File(place, row) => {
                let value = row.get_ref(column);
                let value = value.map_err(|cause| Error::sqlite(place, cause))?;
                let text = value.as_str_or_null();
                text.map_err(|cause| Error::sqlite(place, cause.into()))
            }
            Row::Server(place, row) => row
                .try_get(column)
                .map_err(|cause| damaged(place, cause.to_string())),
        }
    }

    /// The number in a column, or none.
    pub(crate) fn get<T>(&self, column: usize) -> Result<T, Error>
    where
        T: rusqlite::types::FromSql + for<'a> tokio_postgres::types::FromSql<'a>,
    {
        match self {
            Row::File(place, row) => row.get(column).map_err(|cause| Error::sqlite(place, cause)),
            Row::Server(place, row) => row
                .try_get(column)
                .map_err(|cause| damaged(place, cause.to_string())),
        }
    }

    /// The count in a column.
    pub(crate) fn count(&self, column: usize) -> Result<u32, Error> {
        let number: i64 = self.get(column)?;
        let wrong = || damaged(self.place(), format!("expected a count, found {number}"));
        u32::try_from(number).map_err(|_| wrong())
    }

    /// The value in a column as it is.
    pub(crate) fn value(&self, column: usize) -> Result<Value<'static>, Error> {
        if let Row::File(place, row) = self {
            let value = row.get_ref(column);
            return Ok(match value.map_err(|cause| Error::sqlite(place, cause))? {
                ValueRef::Null => Value::Null,
                ValueRef::Integer(number) => Value::Integer(number),
                ValueRef::Real(number) => Value::Real(number),
                ValueRef::Text(_) | ValueRef::Blob(_) => self.text(column)?.to_owned().into(),
            });
        }
        let Row::Server(_, row) = self else {
            unreachable!("the other kind has returned")
        };
        match *row.columns()[column].type_() {
            Type::INT8 => self.get::<Option<i64>>(column).map(Value::from),
            Type::FLOAT8 => self.get::<Option<f64>>(column).map(Value::from),
            _ => Ok(self.optional_text(column)?.map(str::to_owned).into()),
        }
    }

    fn place(&self) -> &Place {
        match self {
            Row::File(place, _) | Row::Server(place, _) => place,
        }
    }
}
