//! Another user than the one who runs the tests, without privileges.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;

/// `nobody` (Linux Standard Base, and every distribution's /etc/passwd).
pub(crate) const NOBODY: User = User(65_534);

/// A user by number; the group has the same one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct User(pub u32);

impl User {
    /// Returns the words that start a program as this user, without any other group (util-linux).
    pub(crate) fn launcher(self) -> Vec<String> {
        let User(id) = self;
        let words = [
            "setpriv".to_owned(),
            format!("--reuid={id}"),
            format!("--regid={id}"),
            "--clear-groups".to_owned(),
        ];
        words.to_vec()
    }

    /// Returns further words that grant these capabilities (capabilities(7)) and no others.
    pub(crate) fn capabilities(names: &[&str]) -> [String; 3] {
        let set = names.iter().map(|name| format!(",+{name}"));
        let set = format!("-all{}", set.collect::<String>());
        ["inh-caps", "ambient-caps", "bounding-set"].map(|of| format!("--{of}={set}"))
    }

    /// Gives a directory to this user.
    pub(crate) fn owns(self, folder: &Path) {
        chown(folder, Some(self.0), Some(self.0)).unwrap();
    }
}

/// Lets everyone enter a directory, or read and execute a file.
pub(crate) fn open_to_all(path: &Path) {
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}
