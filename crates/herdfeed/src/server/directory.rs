//! The directory of a socket: made if it is missing, and refused if strangers
//! could change it or the named group could not enter.

use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::Path;

use crate::server::access::Circle;

/// Makes the directory if it is missing, and checks that it suits the circle of readers.
pub(super) fn prepare(directory: &Path, circle: Circle) -> io::Result<()> {
    match circle {
        Circle::Owner => std::fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)?,
        Circle::Group { id, .. } => make_for_group(directory, id)?,
    }
    keeps_strangers_out(directory)?;
    if let Circle::Group { id, .. } = circle { lets_enter(directory, id) } else { Ok(()) }
}

/// Makes one directory that the group may enter, unless it is there: what lies above it is the administrator's.
fn make_for_group(directory: &Path, group: u32) -> io::Result<()> {
    match std::fs::DirBuilder::new().mode(0o700).create(directory) {
        Ok(()) => {
            give_to_group(directory, group)?;
            std::fs::set_permissions(directory, std::fs::Permissions::from_mode(0o750))
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

/// Makes `group` the group of a file or directory of ours.
pub(super) fn give_to_group(path: &Path, group: u32) -> io::Result<()> {
    std::os::unix::fs::lchown(path, None, Some(group)).map_err(|error| match error.kind() {
        io::ErrorKind::PermissionDenied => denied(&format!(
            "this process is no member of group {group}: add its user to the group (systemd: SupplementaryGroups=)"
        )),
        _ => error,
    })
}

/// Checks that nobody but this user and root can change what is in the directory.
fn keeps_strangers_out(directory: &Path) -> io::Result<()> {
    let mut meta = std::fs::symlink_metadata(directory)?;
    if meta.is_symlink() {
        // Root's links are part of the system, as /tmp on macOS; anybody else's may lead anywhere.
        if meta.uid() != 0 {
            return Err(denied("it is a symbolic link: name the directory itself"));
        }
        meta = std::fs::metadata(directory)?;
    }
    // An administrator may let a group make sockets in a directory of root's, such as /run/herdcache.
    let strangers = if meta.uid() == 0 { 0o002 } else { 0o022 };
    let sticky = meta.mode() & 0o1000 != 0;
    if ![crate::socket::own_uid(), 0].contains(&meta.uid()) {
        return Err(denied("it belongs to another user: choose a directory of your own (HERDCACHE_SOCKET)"));
    }
    if meta.mode() & strangers != 0 && !sticky {
        return Err(denied(
            "others can write to it: remove that right (chmod go-w), or choose another (HERDCACHE_SOCKET)",
        ));
    }
    Ok(())
}

/// Checks that the group is not certainly kept out by a directory on the way.
///
/// A right to enter that the group's bits give may be another group's, or one of an access list:
/// that is left to the kernel.
fn lets_enter(directory: &Path, group: u32) -> io::Result<()> {
    for step in std::fs::canonicalize(directory)?.ancestors() {
        if std::fs::metadata(step)?.mode() & 0o011 == 0 {
            let step = crate::address::calm(&step.to_string_lossy());
            return Err(denied(&format!(
                "members of group {group} cannot enter {step}: chgrp it to the group and chmod g+x, or choose another \
                 place (systemd: RuntimeDirectory=)"
            )));
        }
    }
    Ok(())
}

fn denied(text: &str) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, text)
}
