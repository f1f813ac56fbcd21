//! The id of an operating system installation (machine-id(5)).

use crate::Root;

/// Where it is stored: systemd's file, and D-Bus's where there is no systemd.
const FILES: [&str; 2] = ["etc/machine-id", "var/lib/dbus/machine-id"];
/// No file of this kind is longer than this.
const BYTES_MAX: u64 = 64;

/// The id, 32 hexadecimal digits; `None` where there is none, or none yet (`uninitialized`).
pub fn read(root: &Root) -> Option<String> {
    FILES.iter().find_map(|path| {
        let file = root.read_start(path, BYTES_MAX).ok()??;
        let id = file.text().trim();
        let is_id = id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_id.then(|| id.to_ascii_lowercase())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_one_only_when_it_looks_like_one() {
        let directory = tempfile::tempdir().unwrap();
        let root = Root::at(directory.path()).unwrap();
        let write = |path: &str, text: &str| {
            let path = directory.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        assert_eq!(read(&root), None);
        for text in [
            "",
            "uninitialized\n",
            "3d12\n",
            "no id, but as long as one is ....\n",
        ] {
            write("etc/machine-id", text);
            assert_eq!(read(&root), None, "{text}");
        }
        let id = "3d1219c7c4c5404aaa1f6d2a48adfda4";
        write("var/lib/dbus/machine-id", &format!("{id}\n"));
        assert_eq!(read(&root).as_deref(), Some(id));
        let own = "AA1219c7c4c5404aaa1f6d2a48adfda4";
        write("etc/machine-id", &format!("{own}\n"));
        assert_eq!(read(&root), Some(own.to_lowercase()));
    }
}
