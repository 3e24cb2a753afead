use super::*;

fn places(root: &Path) -> Places {
    Places { forced: None, runtime: None, system: root.join("absent"), temp: root.into(), uid: own_uid() }
}

/// A directory of this test's own.
fn room(name: &str) -> PathBuf {
    let room = std::env::temp_dir().join(format!("herdfeed-socket-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&room);
    std::fs::create_dir_all(&room).unwrap();
    room
}

#[test]
fn p1_the_socket_is_in_the_first_place_that_suits() {
    let root = room("places");
    let mut places = places(&root);
    let uid = places.uid;
    let socket = |places: &Places, wish: Option<&str>| places.socket(wish.map(Path::new), "api-7.sock");
    assert_eq!(socket(&places, None), root.join(format!("herdcache-{uid}/api-7.sock")));
    places.system = root.join("system");
    std::fs::create_dir(&places.system).unwrap();
    assert_eq!(socket(&places, None), root.join("system/api-7.sock"));
    places.runtime = Some("/run/user/1".into());
    assert_eq!(socket(&places, None), Path::new("/run/user/1/herdcache/api-7.sock"));
    assert_eq!(socket(&places, Some("/run/api/")), Path::new("/run/api/api-7.sock"));
    assert_eq!(socket(&places, Some("/run/api/feed.sock")), Path::new("/run/api/feed.sock"));
    // The environment beats the code.
    places.forced = Some("/srv/feed.sock".into());
    assert_eq!(socket(&places, Some("/run/api/feed.sock")), Path::new("/srv/feed.sock"));
    assert_eq!(socket(&places, None), Path::new("/srv/feed.sock"));
    places.forced = Some(root.clone());
    assert_eq!(socket(&places, None), root.join("api-7.sock"));
    std::fs::remove_dir_all(root).unwrap();
}

#[test]
fn a_service_name_cannot_leave_its_directory() {
    for (name, safe) in [("../../etc", "_.._.._etc"), ("", "_"), ("a b/c", "a_b_c"), ("api-2", "api-2")] {
        assert_eq!(file_safe(name), safe);
    }
}

#[cfg(unix)]
#[test]
fn sockets_of_all_places_are_found_and_nothing_is_pruned() {
    use std::os::unix::net::UnixListener;
    let root = room("found");
    let mut places = places(&root);
    places.runtime = Some(root.join("run"));
    places.forced = Some(root.join("odd.sock"));
    let private = root.join(format!("herdcache-{}", places.uid));
    std::fs::create_dir_all(root.join("run/herdcache")).unwrap();
    std::fs::create_dir_all(&private).unwrap();
    let paths = [root.join("run/herdcache/api-2-41.sock"), private.join("web-7.sock"), root.join("odd.sock")];
    for path in &paths {
        // The listener is dropped at once: a dead process's socket is listed as well.
        UnixListener::bind(path).unwrap();
    }
    std::fs::write(private.join("plain-8.sock"), b"a file, no socket").unwrap();
    let mut found = search(&places);
    // Root also sees the real machine's sockets.
    found.retain(|found| matches!(&found.address, Address::Unix(path) if path.starts_with(&root)));
    let expected = [("api-2", Some(41)), ("odd", None), ("web", Some(7))];
    let told: Vec<_> = found.iter().map(|found| (found.service.as_str(), found.pid)).collect();
    assert_eq!(told, expected);
    assert!(paths.iter().all(|path| path.exists()));
    std::fs::remove_dir_all(root).unwrap();
}

#[cfg(unix)]
#[test]
fn p1_another_users_socket_is_listed_only_where_an_administrator_or_this_user_points() {
    use std::os::unix::net::UnixListener;
    let root = room("others");
    let mut places = places(&root);
    places.system = root.join("system");
    // As if the sockets below were another user's, who lets this one connect.
    places.uid += 1;
    let private = root.join(format!("herdcache-{}", places.uid));
    std::fs::create_dir_all(&places.system).unwrap();
    std::fs::create_dir_all(&private).unwrap();
    for path in [places.system.join("api-41.sock"), private.join("web-7.sock"), root.join("odd.sock")] {
        UnixListener::bind(path).unwrap();
    }
    let told = |places: &Places| search(places).into_iter().map(|found| found.service).collect::<Vec<_>>();
    assert_eq!(told(&places), ["api"]);
    places.forced = Some(root.join("odd.sock"));
    assert_eq!(told(&places), ["api", "odd"]);
    std::fs::remove_dir_all(root).unwrap();
}
