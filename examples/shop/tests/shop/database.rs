//! The database file: created whole, refused when it is not ours.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use shop::db::{FEWEST_PRODUCTS, OpenError, OpenOptions, Pool, open};
use shop::stats::Stats;
use tempfile::TempDir;

fn open_at(path: &Path) -> Result<Pool, OpenError> {
    let options = OpenOptions { path, products: FEWEST_PRODUCTS, connections: 2 };
    open(&options, Arc::new(Stats::default()))
}

#[test]
fn a_second_start_uses_the_file_of_the_first() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("shop.db");
    assert_eq!(open_at(&path).unwrap().products(), FEWEST_PRODUCTS);
    rusqlite::Connection::open(&path).unwrap().execute("INSERT INTO products VALUES (900, 1, 5, 5)", []).unwrap();
    assert_eq!(open_at(&path).unwrap().products(), 900);
}

#[test]
fn two_starts_at_once_use_one_file_and_leave_no_other() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("shop.db");
    std::thread::scope(|scope| {
        let starts: Vec<_> = (0..4).map(|_| scope.spawn(|| open_at(&path).map(|pool| pool.products()))).collect();
        for start in starts {
            assert_eq!(start.join().unwrap().unwrap(), FEWEST_PRODUCTS);
        }
    });
    let left: Vec<_> = fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| !name.starts_with("shop.db"))
        .collect();
    assert_eq!(left, Vec::<String>::new());
}

#[test]
fn a_file_that_is_no_database_is_left_alone() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("shop.db");
    let letter = "Dear reader, this is a letter and no database. ".repeat(40);
    fs::write(&path, &letter).unwrap();
    let error = open_at(&path).unwrap_err();
    assert!(matches!(error, OpenError::NotSqlite { .. }), "{error}");
    assert!(error.to_string().contains("--db"), "{error}");
    assert_eq!(fs::read_to_string(&path).unwrap(), letter);
}

#[test]
fn another_programs_database_is_left_alone() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("shop.db");
    rusqlite::Connection::open(&path)
        .unwrap()
        .execute_batch("CREATE TABLE theirs(x); PRAGMA user_version = 7")
        .unwrap();
    let before = fs::read(&path).unwrap();
    let error = open_at(&path).unwrap_err();
    assert!(matches!(error, OpenError::Foreign { found: 0, schema: 7, .. }), "{error}");
    assert_eq!(fs::read(&path).unwrap(), before);
    // An empty file is a database without tables to SQLite, and foreign to us.
    let empty = folder.path().join("empty.db");
    fs::write(&empty, "").unwrap();
    assert!(matches!(open_at(&empty).unwrap_err(), OpenError::Foreign { found: 0, schema: 0, .. }));
}

#[test]
fn a_damaged_database_is_refused() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("shop.db");
    drop(open_at(&path).unwrap());
    let mut bytes = fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle..middle + 8_192].fill(0xff);
    fs::write(&path, bytes).unwrap();
    let error = open_at(&path).unwrap_err();
    assert!(matches!(error, OpenError::Damaged { .. }), "{error:?}");
    assert!(error.to_string().contains("remove it"), "{error}");
}

#[test]
fn a_folder_that_does_not_exist_is_named() {
    let folder = TempDir::new().unwrap();
    let error = open_at(&folder.path().join("no/such/shop.db")).unwrap_err();
    assert!(matches!(error, OpenError::Io { .. }), "{error}");
    assert!(error.to_string().contains("no/such/shop.db"), "{error}");
}
