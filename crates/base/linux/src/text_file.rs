//! The text of one kernel file, and the forms of whole files in /sys and /proc/sys: a number, a
//! list or mask of ids, a choice in brackets. Errors name the file and the line.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use model::{Id, IdSet};

use crate::{Error, bit_mask};

/// A file that was read, with its path.
#[derive(Clone, Debug)]
pub struct TextFile {
    path: PathBuf,
    text: String,
}

impl TextFile {
    /// A file with this content, from any source.
    pub fn new(path: impl Into<PathBuf>, text: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            text: text.into(),
        }
    }

    /// A file with this content, if it is UTF-8.
    ///
    /// # Errors
    /// When the bytes are not UTF-8.
    pub fn from_bytes(path: PathBuf, bytes: Vec<u8>) -> Result<Self, Error> {
        match String::from_utf8(bytes) {
            Ok(text) => Ok(Self { path, text }),
            Err(error) => {
                let valid = error.utf8_error().valid_up_to();
                let bytes = error.as_bytes();
                Err(Error::Malformed {
                    path,
                    line: 1 + bytes[..valid].iter().filter(|byte| **byte == b'\n').count(),
                    expected: "text in UTF-8".to_owned(),
                    found: format!("byte {:#04x}", bytes[valid]),
                })
            }
        }
    }

    /// Where the file is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The whole content.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The lines with their numbers, from 1.
    pub fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text
            .lines()
            .enumerate()
            .map(|(index, line)| (index + 1, line))
    }

    /// The error for an unexpected text on a line of this file.
    pub fn malformed(&self, line: usize, expected: impl Into<String>, found: &str) -> Error {
        self.unexpected(line, expected, quoted(found))
    }

    /// The error for anything unexpected on a line of this file, where the finding is described
    /// rather than quoted.
    pub fn unexpected(
        &self,
        line: usize,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) -> Error {
        let (expected, found) = (expected.into(), found.into());
        Error::Malformed {
            path: self.path.clone(),
            line,
            expected,
            found,
        }
    }

    /// The error for a file that ends too early.
    pub fn ended(&self, expected: impl Into<String>) -> Error {
        self.unexpected(
            self.text.lines().count().max(1),
            expected,
            "the end of the file",
        )
    }

    /// Checks that a line is complete: the last one is known to be only if a line break follows. A
    /// truncated copy may turn `140.2` into `14`, which is also a number.
    ///
    /// # Errors
    /// When the text ends in the middle of this line.
    pub fn check_whole(&self, line: usize) -> Result<(), Error> {
        if self.text.ends_with('\n') || self.text.lines().count() != line {
            return Ok(());
        }
        let text = self.text.lines().last().unwrap_or_default();
        Err(self.malformed(
            line,
            "a line break at the end, without which the last figure may be cut off",
            text.trim(),
        ))
    }

    /// The whole file as one number: `/proc/sys/vm/swappiness`, `.../physical_package_id`.
    ///
    /// # Errors
    /// When it is anything else.
    pub fn number<T: FromStr>(&self) -> Result<T, Error> {
        self.word()
            .parse()
            .map_err(|_| self.malformed(1, "a number", self.text.trim_end_matches('\n')))
    }

    /// The whole file as one number; `None` for any negative number, as the kernel writes -1 for
    /// unknown.
    ///
    /// # Errors
    /// When it is not a number, or one beyond `u32`.
    pub(crate) fn number_or_unknown(&self) -> Result<Option<u32>, Error> {
        let number: i64 = self.number()?;
        if number < 0 {
            return Ok(None);
        }
        u32::try_from(number)
            .map(Some)
            .map_err(|_| self.malformed(1, "a number up to 4294967295", self.word()))
    }

    /// The whole file as a list of ids: `/sys/devices/system/cpu/online`.
    ///
    /// # Errors
    /// When it is not a list in the kernel's form, or contains ids beyond all limits.
    pub fn id_list<I: Id>(&self) -> Result<IdSet<I>, Error> {
        self.text.parse().map_err(|error| match error {
            model::Error::IdList { expected, found } => self.malformed(1, expected, &found),
            other => self.malformed(1, other.to_string(), &self.text),
        })
    }

    /// The whole file as a mask of ids: `/sys/devices/system/node/node0/cpumap`.
    ///
    /// # Errors
    /// When it is not a mask in the kernel's form, or has bits beyond all limits.
    pub(crate) fn id_mask<I: Id>(&self) -> Result<IdSet<I>, Error> {
        bit_mask::parse(&self.text)
            .ok_or_else(|| self.malformed(1, "a mask such as 00000000,000000ff", self.word()))
    }

    /// The whole file as the choice in brackets: `madvise` of `always [madvise] never`.
    ///
    /// # Errors
    /// When no word is in brackets.
    pub fn choice(&self) -> Result<&str, Error> {
        let bracketed = |word: &'_ str| word.starts_with('[') && word.ends_with(']');
        self.text
            .split_ascii_whitespace()
            .find(|word| word.len() > 2 && bracketed(word) && is_showable(word))
            .map(|word| &word[1..word.len() - 1])
            .ok_or_else(|| self.malformed(1, "a choice such as \"always [never]\"", self.word()))
    }

    /// The whole file as a printable name: `performance`.
    ///
    /// # Errors
    /// When it is empty, too long for a name, or has unprintable characters.
    pub fn name(&self) -> Result<&str, Error> {
        if is_showable(self.word()) {
            return Ok(self.word());
        }
        Err(self.malformed(1, "a name", self.word()))
    }

    /// The whole file without surrounding white space.
    pub fn word(&self) -> &str {
        self.text.trim()
    }
}

/// Whether a text of the kernel is a name that can be shown to a user: not empty, short, and
/// without control characters.
pub(crate) fn is_showable(text: &str) -> bool {
    const BYTES_MAX: usize = 128;
    let is_control = |char: char| char.is_control();
    !text.is_empty() && text.len() <= BYTES_MAX && !text.contains(is_control)
}

/// Text of a file, quoted, on one line and shortened for a message.
fn quoted(text: &str) -> String {
    const CHARS_MAX: usize = 40;
    let short: String = text.chars().take(CHARS_MAX).collect();
    if short.len() < text.len() {
        format!("{short:?}…")
    } else {
        format!("{short:?}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::CpuSet;
    use proptest::prelude::*;

    fn file(text: &str) -> TextFile {
        TextFile::new("/sys/f", text)
    }

    fn check_error<T: std::fmt::Debug>(result: Result<T, Error>, expected: &str) {
        assert_eq!(
            result.unwrap_err().to_string(),
            format!("/sys/f, line 1: expected {expected}")
        );
    }

    #[test]
    fn whole_files_are_numbers_lists_and_choices() {
        assert_eq!(file("60\n").number::<u32>().unwrap(), 60);
        assert_eq!(file("3\n").number_or_unknown().unwrap(), Some(3));
        assert_eq!(file("-1\n").number_or_unknown().unwrap(), None);
        assert_eq!(
            file("0-3,8\n").id_list().unwrap(),
            "0-3,8".parse::<CpuSet>().unwrap()
        );
        assert_eq!(file("\n").id_list().unwrap(), CpuSet::new());
        assert_eq!(
            file("always [madvise] never\n").choice().unwrap(),
            "madvise"
        );
        assert_eq!(
            file("always defer [defer+madvise]").choice().unwrap(),
            "defer+madvise"
        );
    }

    #[test]
    fn a_last_line_without_a_line_break_is_not_whole() {
        assert!(file("1\n2\n").check_whole(2).is_ok());
        assert!(file("1\n2").check_whole(1).is_ok());
        let expected = "expected a line break at the end, without which the last figure may be \
                        cut off, found \"80 14\"";
        let error = file("1\n 80 14").check_whole(2).unwrap_err();
        assert_eq!(error.to_string(), format!("/sys/f, line 2: {expected}"));
    }

    #[test]
    fn anything_else_is_named_with_file_and_line() {
        check_error(file("").number::<u32>(), "a number, found \"\"");
        check_error(file("-1\n").number::<u32>(), "a number, found \"-1\"");
        check_error(file("1 2\n").number::<u32>(), "a number, found \"1 2\"");
        check_error(
            file("4294967296\n").number_or_unknown(),
            "a number up to 4294967295, found \"4294967296\"",
        );
        check_error(
            file("0-4294967295\n").id_list::<model::CpuId>(),
            "ids up to 65535, found \"0-4294967295\"",
        );
        check_error(
            file("a\nb").id_list::<model::CpuId>(),
            "a list of ids such as 0-3,8, found \"a\\nb\"",
        );
        check_error(
            file("0-3\n").id_mask::<model::CpuId>(),
            "a mask such as 00000000,000000ff, found \"0-3\"",
        );
        check_error(
            file("always never\n").choice(),
            "a choice such as \"always [never]\", found \"always never\"",
        );
        let long = "x".repeat(100);
        check_error(
            file(&long).number::<u32>(),
            &format!("a number, found \"{}\"…", "x".repeat(40)),
        );
    }

    proptest! {

        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            let _ = TextFile::from_bytes("/f".into(), bytes);
        }
    }

    #[test]
    fn no_text_panics() {
        testing::any_text("\\PC*", &|text| {
            let file = file(text);
            let _ = file.number::<u64>();
            let _ = file.number_or_unknown();
            let _ = file.id_list::<model::NodeId>();
            let _ = file.id_mask::<model::NodeId>();
            let _ = file.choice();
        });
    }
}
