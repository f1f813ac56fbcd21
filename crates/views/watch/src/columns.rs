//! Tables that fit: columns go by priority until the rest has room, and what is left over goes to
//! columns of words.

use crate::visible::{Side, cell};

/// A column of a table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column {
    /// Its heading.
    pub(crate) title: &'static str,
    /// Columns of the terminal that its values need.
    pub(crate) width: usize,
    /// Where values stand.
    pub(crate) side: Side,
    /// Columns with larger numbers go first; 0 never goes.
    pub(crate) rank: u8,
}

impl Column {
    /// A column of numbers.
    pub(crate) const fn number(title: &'static str, width: usize, rank: u8) -> Self {
        Column {
            title,
            width,
            side: Side::Right,
            rank,
        }
    }

    /// A column of words.
    pub(crate) const fn words(title: &'static str, width: usize, rank: u8) -> Self {
        Column {
            title,
            width,
            side: Side::Left,
            rank,
        }
    }
}

/// The columns of a table that fit, with their widths.
#[derive(Debug)]
pub(crate) struct Layout {
    /// Index in the table and width of each.
    kept: Vec<(usize, usize)>,
    columns: Vec<Column>,
}

impl Layout {
    /// Lays out `columns` in `width`. What is left over goes to the columns of `flexible` in order,
    /// each with the most columns of the terminal that it can use.
    pub(crate) fn new(columns: &[Column], width: usize, flexible: &[(usize, usize)]) -> Self {
        let mut kept: Vec<usize> = (0..columns.len()).collect();
        let needed = |kept: &[usize]| {
            let widths: usize = kept.iter().map(|&index| columns[index].width).sum();
            widths + kept.len().saturating_sub(1)
        };
        while needed(&kept) > width {
            let last = kept.iter().enumerate();
            let last = last.max_by_key(|(_, index)| columns[**index].rank);
            match last {
                Some((at, &index)) if columns[index].rank > 0 => kept.remove(at),
                _ => break,
            };
        }
        let mut left = width.saturating_sub(needed(&kept));
        let mut widths: Vec<(usize, usize)> = kept
            .into_iter()
            .map(|index| (index, columns[index].width))
            .collect();
        for &(index, most) in flexible {
            let shown = widths.iter_mut().find(|(kept, _)| *kept == index);
            if let Some((_, width)) = shown {
                let more = most.saturating_sub(*width).min(left);
                *width += more;
                left -= more;
            }
        }
        Layout {
            kept: widths,
            columns: columns.to_vec(),
        }
    }

    /// Returns the headings.
    pub(crate) fn heading(&self) -> String {
        self.row(|index| self.columns[index].title.to_owned())
    }

    /// Returns the width of a column; 0 if it has gone.
    pub(crate) fn width(&self, index: usize) -> usize {
        let found = self.kept.iter().find(|(kept, _)| *kept == index);
        found.map_or(0, |(_, width)| *width)
    }

    /// The index of the column at this place of a line; the space after a column belongs to it.
    pub(crate) fn at(&self, x: usize) -> Option<usize> {
        let mut end = 0;
        let mut kept = self.kept.iter();
        let found = kept.find(|(_, width)| {
            end += width + 1;
            x < end
        });
        found.map(|(index, _)| *index)
    }

    /// Returns a row; `text` is asked only for the columns that are shown.
    pub(crate) fn row(&self, text: impl Fn(usize) -> String) -> String {
        let cells = self.kept.iter();
        let cells =
            cells.map(|&(index, width)| cell(&text(index), width, self.columns[index].side));
        cells.collect::<Vec<_>>().join(" ").trim_end().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: [Column; 3] = [
        Column::number("id", 3, 0),
        Column::words("name", 4, 1),
        Column::number("age", 5, 2),
    ];

    fn rows(width: usize) -> (String, String) {
        let layout = Layout::new(&TABLE, width, &[(1, 100)]);
        let row = layout.row(|index| ["7", "postgres", "3 s"][index].to_owned());
        (layout.heading(), row)
    }

    #[test]
    fn a_place_is_in_the_column_that_is_drawn_there() {
        let layout = Layout::new(&TABLE, 13, &[(1, 100)]);
        let found = [0, 3, 4, 13, 14].map(|x| layout.at(x));
        assert_eq!(found, [Some(0), Some(0), Some(1), Some(1), None]);
    }

    #[test]
    fn columns_go_by_rank_and_the_rest_goes_to_the_name() {
        assert_eq!(
            rows(20),
            (
                " id name         age".to_owned(),
                "  7 postgres     3 s".to_owned()
            )
        );
        assert_eq!(rows(13), (" id name".to_owned(), "  7 postgres".to_owned()));
        assert_eq!(rows(5), (" id".to_owned(), "  7".to_owned()));
        assert_eq!(rows(1), (" id".to_owned(), "  7".to_owned()));
    }
}
