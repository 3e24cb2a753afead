//! [`Peers`]: whom a Unix socket lets in.
//!
//! The kernel tells a peer's user and its primary group, but none of its other
//! groups. Whether a stranger is a member is therefore the kernel's own check of
//! the file's mode, and holds only while that mode keeps everybody else out.

use std::path::PathBuf;

#[cfg(unix)]
use crate::server::access::OTHERS;

/// Whom a Unix socket lets in. Who asks over HTTP was judged by it on connecting.
#[derive(Debug)]
pub(super) enum Peers {
    /// This user and root.
    Owner,
    /// The members of a group as well.
    #[cfg_attr(not(unix), allow(dead_code, reason = "only Unix sockets have groups"))]
    Group {
        /// The group's number.
        id: u32,
        /// The socket's file.
        file: PathBuf,
    },
}

#[cfg(unix)]
impl Peers {
    /// Whether a process of this user and primary group may read.
    pub(super) fn admit(&self, uid: u32, gid: u32, own: u32) -> bool {
        if uid == own || uid == 0 {
            return true;
        }
        match self {
            Self::Owner => false,
            Self::Group { id, file } => gid == *id || keeps_strangers_out(file, *id),
        }
    }
}

/// Whether the socket's file still lets only its owner and this group connect.
#[cfg(unix)]
fn keeps_strangers_out(file: &std::path::Path, group: u32) -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::symlink_metadata(file).is_ok_and(|meta| meta.gid() == group && meta.mode() & OTHERS == 0)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn p1_only_this_user_and_root_may_read() {
        assert!(Peers::Owner.admit(1000, 1000, 1000) && Peers::Owner.admit(0, 0, 1000));
        assert!(!Peers::Owner.admit(1001, 1000, 1000) && !Peers::Owner.admit(1000, 0, 0));
    }

    #[test]
    fn p1_a_groups_members_may_read_while_the_mode_keeps_others_out() {
        use std::os::unix::fs::{MetadataExt, PermissionsExt};
        let file = std::env::temp_dir().join(format!("herdfeed-peers-{}", std::process::id()));
        std::fs::write(&file, b"").unwrap();
        let set = |mode| std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
        let id = std::fs::metadata(&file).unwrap().gid();
        let peers = Peers::Group { id, file: file.clone() };
        let (stranger, elsewhere) = (4_000_000, id + 1);
        set(0o660);
        // The kernel let this one through, though the group is not its primary one.
        assert!(peers.admit(stranger, elsewhere, 1000));
        for opened in [0o666, 0o662, 0o661] {
            set(opened);
            assert!(!peers.admit(stranger, elsewhere, 1000), "{opened:o}");
            assert!(peers.admit(stranger, id, 1000) && peers.admit(1000, elsewhere, 1000));
        }
        set(0o660);
        assert!(!Peers::Group { id: id + 2, file: file.clone() }.admit(stranger, elsewhere, 1000));
        std::fs::remove_file(&file).unwrap();
        assert!(!peers.admit(stranger, elsewhere, 1000));
    }
}
