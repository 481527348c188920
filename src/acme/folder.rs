//! The folder with the account key and the certificate of an authority. Only the owner of the
//! folder can read it.

use std::fs::{DirBuilder, File, TryLockError};
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

/// The name of the file with the account and its key.
const ACCOUNT: &str = "account.json";
/// The name of the file with the private key and the certificate chain. Both are in one file, so
/// that the key always matches the certificate.
const CERTIFICATE: &str = "certificate.pem";
/// The name of the file that a process locks while it uses the folder.
const LOCK: &str = "lock";
/// The access mode of the folder. The files in the folder have mode 0600.
const FOLDER_MODE: u32 = 0o700;

/// The folder of one authority's account and certificate, locked for this process.
pub(super) struct CertificateFolder {
    path: PathBuf,
    /// The open lock file. The lock ends when this value is dropped.
    _lock: File,
}

impl CertificateFolder {
    /// Creates, within `folder`, the folder for the authority with the ACME directory `directory`,
    /// and locks it. Blocks the thread.
    pub(super) fn open(folder: &Path, directory: &str) -> Result<Self, String> {
        let path = authority_folder(folder, directory);
        let text = |error: std::io::Error| format!("--acme-folder: {}: {error}", path.display());
        DirBuilder::new()
            .recursive(true)
            .mode(FOLDER_MODE)
            .create(&path)
            .map_err(text)?;
        let lock = File::create(path.join(LOCK)).map_err(text)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(format!(
                    "--acme-folder: {}: another process uses it; one process obtains certificates",
                    path.display()
                ));
            }
            Err(TryLockError::Error(error)) => return Err(text(error)),
        }
        Ok(Self { path, _lock: lock })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the stored private key and certificate, in PEM.
    pub(super) fn certificate(&self) -> Result<Option<Vec<u8>>, String> {
        read(&self.path.join(CERTIFICATE))
    }

    /// Stores a private key and a certificate, in PEM. Blocks the thread.
    pub(super) fn store_certificate(&self, pem: &str) -> Result<(), String> {
        self.store(CERTIFICATE, pem)
    }

    /// Returns the stored account at the certificate authority; `None` if no account is stored.
    pub(super) fn account(&self) -> Result<Option<Vec<u8>>, String> {
        read(&self.path.join(ACCOUNT))
    }

    /// Stores the account at the authority, as JSON. Blocks the thread.
    pub(super) fn store_account(&self, json: &str) -> Result<(), String> {
        self.store(ACCOUNT, json)
    }

    /// Writes a temporary file with mode 0600 and renames it. So the file is complete or absent,
    /// even if the process ends during the write.
    fn store(&self, name: &str, text: &str) -> Result<(), String> {
        let write = || {
            let mut file = NamedTempFile::new_in(&self.path)?;
            file.write_all(text.as_bytes())?;
            file.as_file().sync_all()?;
            file.persist(self.path.join(name))
                .map_err(|error| error.error)?;
            File::open(&self.path)?.sync_all()
        };
        write().map_err(|error| format!("cannot write {}: {error}", self.path.join(name).display()))
    }
}

/// Returns the private key and the certificate that are stored for an authority, in PEM; `None` if
/// nothing is stored. `directory` is the URL of the authority's ACME directory. Does not create or
/// lock the folder. Blocks the thread.
pub(crate) fn stored_certificate(
    folder: &Path,
    directory: &str,
) -> Result<Option<Vec<u8>>, String> {
    read(&authority_folder(folder, directory).join(CERTIFICATE))
}

/// Reads a file; `None` if the file does not exist.
fn read(path: &Path) -> Result<Option<Vec<u8>>, String> {
    match std::fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(format!("cannot read {}: {error}", path.display())),
    }
}

/// Returns the path of the folder for an authority. Its name is derived from the address of the
/// authority's directory. Each authority has a separate folder, so that the service never uses the
/// certificate of a test authority instead of a trusted one.
fn authority_folder(folder: &Path, directory: &str) -> PathBuf {
    let address = directory
        .split_once("://")
        .map_or(directory, |(_, rest)| rest);
    let name: String = address
        .chars()
        .map(|c| match c {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '.' | '-' => c,
            _ => '_',
        })
        .collect();
    folder.join(name)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    const DIRECTORY: &str = "https://acme.example:14000/directory";

    fn mode(path: &Path) -> u32 {
        std::fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn only_the_owner_can_read_the_folder_and_its_files() {
        let directory = tempfile::tempdir().unwrap();
        let top = directory.path().join("acme");
        let folder = CertificateFolder::open(&top, DIRECTORY).unwrap();
        assert_eq!(folder.path(), top.join("acme.example_14000_directory"));
        folder.store_account("{}").unwrap();
        folder.store_certificate("pem").unwrap();
        for file in [&top, folder.path()] {
            assert_eq!(mode(file), 0o700, "{}", file.display());
        }
        for name in [ACCOUNT, CERTIFICATE] {
            assert_eq!(mode(&folder.path().join(name)), 0o600, "{name}");
        }
        assert_eq!(folder.account(), Ok(Some(b"{}".to_vec())));
        assert_eq!(
            stored_certificate(&top, DIRECTORY),
            Ok(Some(b"pem".to_vec()))
        );
    }

    #[test]
    fn one_process_uses_a_folder_at_a_time() {
        let directory = tempfile::tempdir().unwrap();
        let folder = CertificateFolder::open(directory.path(), DIRECTORY).unwrap();
        let second = CertificateFolder::open(directory.path(), DIRECTORY);
        assert!(second.is_err_and(|error| error.contains("another process uses it")));
        let other = CertificateFolder::open(directory.path(), "https://other.example/directory");
        assert!(other.is_ok_and(|other| other.certificate() == Ok(None)));
        drop(folder);
        assert!(CertificateFolder::open(directory.path(), DIRECTORY).is_ok());
    }
}
