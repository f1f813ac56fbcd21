//! Writes rows into a Parquet file: a group of rows for so many trials that memory stays small.

use std::io::Write;
use std::sync::Arc;

use model::Run;
use parquet::basic::{Compression, ZstdLevel};
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type,
};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::parser::parse_message_type;

use crate::columns::{COLUMNS, Cell, Row};

/// Rows of a group: readers take a group at a time.
const ROWS_OF_A_GROUP: usize = 65_536;

/// A Parquet file under way.
pub struct Table<W: Write + Send> {
    file: SerializedFileWriter<W>,
    /// What is not written yet, by column.
    pending: Vec<Vec<Cell>>,
    rows: usize,
}

impl<W: Write + Send> Table<W> {
    /// Begins a file.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn begin(to: W) -> Result<Self, ParquetError> {
        let field = |column: &crate::columns::Column| {
            format!("optional {};", column.kind.replace("{}", column.name))
        };
        let fields: String = COLUMNS.iter().map(field).collect();
        let schema = parse_message_type(&format!("message trials {{ {fields} }}"))?;
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_created_by(concat!("numalab ", env!("CARGO_PKG_VERSION")).to_owned());
        let properties = Arc::new(properties.build());
        Ok(Table {
            file: SerializedFileWriter::new(to, Arc::new(schema), properties)?,
            pending: COLUMNS.iter().map(|_| Vec::new()).collect(),
            rows: 0,
        })
    }

    /// Adds the trials of a run, in order of its cases.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn add(&mut self, run: &Run) -> Result<(), ParquetError> {
        for case in &run.cases {
            for trial in &case.trials {
                let row = Row { run, case, trial };
                for (cells, column) in self.pending.iter_mut().zip(&COLUMNS) {
                    cells.push((column.of)(&row));
                }
                self.rows += 1;
                if self.pending[0].len() == ROWS_OF_A_GROUP {
                    self.write()?;
                }
            }
        }
        Ok(())
    }

    /// Ends the file, and returns where it was written to, and how many rows it has.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn finish(mut self) -> Result<(W, usize), ParquetError> {
        self.write()?;
        Ok((self.file.into_inner()?, self.rows))
    }

    /// Writes what is pending, as a group.
    fn write(&mut self) -> Result<(), ParquetError> {
        if self.pending[0].is_empty() {
            return Ok(());
        }
        let mut group = self.file.next_row_group()?;
        for cells in &mut self.pending {
            let mut column = group
                .next_column()?
                .ok_or_else(|| ParquetError::General("a column is missing".to_owned()))?;
            write_cells(&mut column, std::mem::take(cells))?;
            column.close()?;
        }
        group.close()?;
        Ok(())
    }
}

/// Writes the cells of a column, all of one kind.
fn write_cells(to: &mut SerializedColumnWriter<'_>, cells: Vec<Cell>) -> Result<(), ParquetError> {
    macro_rules! all {
        ($kind:ident, $type:ty, $value:expr) => {{
            let values = cells.into_iter().map(|cell| match cell {
                Cell::$kind(value) => value.map($value),
                _ => None,
            });
            put::<$type>(to, values.collect())
        }};
    }
    match cells.first() {
        None => Ok(()),
        Some(Cell::Text(_)) => all!(Text, ByteArrayType, |it| ByteArray::from(it.into_bytes())),
        Some(Cell::Whole(_)) => all!(Whole, Int32Type, |it| it),
        Some(Cell::Time(_)) => all!(Time, Int64Type, |it| it),
        Some(Cell::Number(_)) => all!(Number, DoubleType, |it| it),
        Some(Cell::Truth(_)) => all!(Truth, BoolType, |it| it),
    }
}

/// Writes values, and where there are none.
fn put<T: DataType>(
    to: &mut SerializedColumnWriter<'_>,
    values: Vec<Option<T::T>>,
) -> Result<(), ParquetError> {
    let levels: Vec<i16> = values.iter().map(|it| i16::from(it.is_some())).collect();
    let values: Vec<T::T> = values.into_iter().flatten().collect();
    to.typed::<T>().write_batch(&values, Some(&levels), None)?;
    Ok(())
}
