//! Lines that a person pastes into a shell, perhaps as root.

use std::borrow::{Borrow, Cow};
use std::fmt::{self, Display, Formatter};
use std::ops::Deref;

use serde::{Deserialize, Serialize};

use crate::{CpuSet, NodeId, NodeSet, shell_word};

/// A line for a shell: a command that [`shell_line!`](crate::shell_line) has made, in which each
/// argument is one word, or a remark. There is no other way to make one of a name that others
/// chose.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ShellLine(String);

impl ShellLine {
    /// A line without arguments.
    pub fn of(line: &'static str) -> Self {
        ShellLine(line.to_owned())
    }

    /// A remark, `# …`, that no character of the text can end.
    pub fn remark(text: impl Display) -> Self {
        let text = text.to_string();
        let text = text.replace(|letter: char| letter.is_control(), " ");
        ShellLine(format!("# {text}"))
    }

    /// What [`shell_line!`](crate::shell_line) makes of words that it has quoted.
    #[doc(hidden)]
    pub fn of_quoted(line: fmt::Arguments<'_>) -> Self {
        ShellLine(line.to_string())
    }

    /// Words, one after the other.
    pub fn words<T: ShellArgument>(words: impl IntoIterator<Item = T>) -> Self {
        let words = words.into_iter();
        let words: Vec<String> = words.map(|it| it.for_shell().into_owned()).collect();
        ShellLine(words.join(" "))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Display for ShellLine {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// To read it is no danger.
impl Deref for ShellLine {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for ShellLine {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl PartialEq<&str> for ShellLine {
    fn eq(&self, other: &&str) -> bool {
        self.0 == *other
    }
}

/// What can stand in a line for a shell.
pub trait ShellArgument {
    /// As it stands there: one word, or a line that is one already.
    fn for_shell(&self) -> Cow<'_, str>;
}

impl ShellArgument for ShellLine {
    fn for_shell(&self) -> Cow<'_, str> {
        Cow::Borrowed(&self.0)
    }
}

impl ShellArgument for str {
    fn for_shell(&self) -> Cow<'_, str> {
        shell_word(self)
    }
}

impl<T: ShellArgument + ?Sized> ShellArgument for &T {
    fn for_shell(&self) -> Cow<'_, str> {
        (**self).for_shell()
    }
}

/// Those that say themselves as one word, which is quoted if need be.
macro_rules! one_word {
    ($($type:ty),*) => {$(
        impl ShellArgument for $type {
            fn for_shell(&self) -> Cow<'_, str> {
                Cow::Owned(shell_word(&self.to_string()).into_owned())
            }
        }
    )*};
}

one_word!(
    String,
    Cow<'_, str>,
    u32,
    u64,
    usize,
    NodeId,
    NodeSet,
    CpuSet
);

/// Makes a [`ShellLine`](crate::ShellLine) as `format!` makes a text, with each argument as one
/// word of the shell. Names in braces are refused, for those would not be quoted.
///
/// ```
/// let target = "it's;reboot";
/// let line = model::shell_line!("numalab move {} --to {}", target, 1_u32);
/// assert_eq!(line.as_str(), r#"numalab move 'it'"'"'s;reboot' --to 1"#);
/// ```
///
/// ```compile_fail
/// let target = "it's;reboot";
/// let line = model::shell_line!("numalab move {target}");
/// ```
#[macro_export]
macro_rules! shell_line {
    ($format:literal $(, $argument:expr)* $(,)?) => {
        // A literal through concat! captures no names.
        $crate::ShellLine::of_quoted(::std::format_args!(
            ::std::concat!($format)
            $(, $crate::ShellArgument::for_shell(&$argument))*
        ))
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_words_and_remarks_end_with_their_line() {
        let file = "/etc/a b;reboot.d/x";
        let line = shell_line!("echo {} >{}", 5_u32, file);
        assert_eq!(line.as_str(), "echo 5 >'/etc/a b;reboot.d/x'");
        let twice = shell_line!("{}; {}", line, ShellLine::words(["$HOME", "x"]));
        let expected = "echo 5 >'/etc/a b;reboot.d/x'; '$HOME' x";
        assert_eq!(twice.to_string(), expected);
        let remark = ShellLine::remark("node 1\nreboot");
        assert_eq!(remark.as_str(), "# node 1 reboot");
    }
}
