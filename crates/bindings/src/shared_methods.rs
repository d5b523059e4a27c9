//! Methods that classes of CKKS and of BGV share, word for word.

/// Operations of an evaluator that make a ciphertext of ciphertexts, plaintexts and one number:
/// each with what its work is, counted by the bytes of the first operand.
macro_rules! operations {
    ($evaluator:ident -> $ciphertext:ident; $(
        $(#[$doc:meta])*
        $name:ident(
            $first:ident: $first_kind:ident
            $(, $other:ident: $other_kind:ident)?
            $(; $number:ident: $number_kind:ty)?
        ) as $work:ident;
    )+) => {
        #[pymethods]
        impl $evaluator {
            $(
                $(#[$doc])*
                fn $name(
                    &self,
                    py: Python<'_>,
                    $first: Bound<'_, $first_kind>,
                    $($other: Bound<'_, $other_kind>,)?
                    $($number: Number<$number_kind>,)?
                ) -> PyResult<$ciphertext> {
                    let $first = &$first.get().0;
                    $(let $other = &$other.get().0;)?
                    let work = Work::$work.on($first.nbytes());
                    engine::run_about(py, work, || {
                        self.0.$name($first $(, $other)? $(, $number.0)?)
                    })
                    .map($ciphertext)
                }
            )+
        }
    };
}

/// What evaluators do with rotated products.
macro_rules! products {
    ($evaluator:ident, $ciphertext:ident, $products:ident, $switch_and_divide:ident, $doc:literal) => {
        #[pymethods]
        impl $evaluator {
            /// For every t below d = slots / step, of a row where there are rows, the sum over j
            /// of left[j], rotated by t * step, times right[j]; no key is switched, none is needed.
            ///
            /// Args:
            ///     left: Ciphertexts of one level and scale or correction factor.
            ///     right: As many, of the same.
            ///     step: A power of two up to the slots.
            fn rotated_products(
                &self,
                py: Python<'_>,
                left: Vec<Bound<'_, $ciphertext>>,
                right: Vec<Bound<'_, $ciphertext>>,
                step: Number<usize>,
            ) -> PyResult<$products> {
                let [left, right] =
                    [&left, &right].map(|side| side.iter().map(|a| &a.get().0).collect::<Vec<_>>());
                engine::run(py, || self.0.rotated_products(&left, &right, step.0)).map($products)
            }

            /// For every t below d = slots / step the sum over runs of d, and over r, of
            /// left[(r - t) % d], rotated by t * step, times right[r]: products of diagonals of
            /// matrices.
            ///
            /// Args:
            ///     left: Ciphertexts as for `rotated_products`, a multiple of d.
            ///     right: As many.
            ///     step: A power of two up to the slots.
            fn diagonal_products(
                &self,
                py: Python<'_>,
                left: Vec<Bound<'_, $ciphertext>>,
                right: Vec<Bound<'_, $ciphertext>>,
                step: Number<usize>,
            ) -> PyResult<$products> {
                let [left, right] =
                    [&left, &right].map(|side| side.iter().map(|a| &a.get().0).collect::<Vec<_>>());
                engine::run(py, || self.0.diagonal_products(&left, &right, step.0)).map($products)
            }

            /// The products of both pairs of lists, added up.
            fn add_rotated_products(
                &self,
                py: Python<'_>,
                a: Bound<'_, $products>,
                b: Bound<'_, $products>,
            ) -> PyResult<$products> {
                let (a, b) = (&a.get().0, &b.get().0);
                engine::run(py, || self.0.add_rotated_products(a, b)).map($products)
            }

            /// The product at a rotation by t steps as a ciphertext: by the Galois key and the
            /// product key of that rotation, by the relinearisation key for t = 0.
            fn switch_product(
                &self,
                py: Python<'_>,
                products: Bound<'_, $products>,
                t: Number<usize>,
            ) -> PyResult<$ciphertext> {
                let products = &products.get().0;
                engine::run_about(py, Work::Switch.on(products.product_nbytes()), || {
                    self.0.switch_product(products, t.0)
                })
                .map($ciphertext)
            }

            #[doc = $doc]
            fn $switch_and_divide(
                &self,
                py: Python<'_>,
                products: Bound<'_, $products>,
                t: Number<usize>,
            ) -> PyResult<$ciphertext> {
                let products = &products.get().0;
                engine::run_about(py, Work::Switch.on(products.product_nbytes()), || {
                    self.0.$switch_and_divide(products, t.0)
                })
                .map($ciphertext)
            }
        }
    };
}

/// Several rotations of one ciphertext.
macro_rules! hoisting {
    ($evaluator:ident, $ciphertext:ident) => {
        #[pymethods]
        impl $evaluator {
            /// Several rotations of one ciphertext, which share the decomposition (hoisting).
            fn rotate_hoisted(
                &self,
                py: Python<'_>,
                ciphertext: Bound<'_, $ciphertext>,
                steps: Vec<Number<i64>>,
            ) -> PyResult<Vec<$ciphertext>> {
                let a = &ciphertext.get().0;
                let steps: Vec<i64> = steps.into_iter().map(|k| k.0).collect();
                let work = Work::Switch.on(steps.len() * a.nbytes());
                let rotated = engine::run_about(py, work, || self.0.rotate_hoisted(a, &steps))?;
                Ok(rotated.into_iter().map($ciphertext).collect())
            }
        }
    };
}

/// The key that something belongs to, and its bytes in memory.
macro_rules! owned {
    ($class:ident, $estimate:ident) => {
        #[pymethods]
        impl $class {
            /// All that is known of it without decrypting it: of a ciphertext that a stranger sent
            /// nothing of this need be true.
            #[getter]
            fn estimate(&self) -> $estimate {
                $estimate(self.0.estimate().clone())
            }

            /// Which secret key it belongs to: a random public label.
            #[getter]
            fn key_id<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
                PyBytes::new(py, &self.0.key_id())
            }

            /// Bytes in memory.
            #[getter]
            fn nbytes(&self) -> usize {
                self.0.nbytes()
            }

            fn __repr__(&self) -> String {
                format!("{}({})", stringify!($class), self.0)
            }
        }
    };
}

/// Bytes of what belongs to parameters.
macro_rules! stored {
    ($class:ident($kind:path), $parameters:ident) => {
        #[pymethods]
        impl $class {
            /// Read what `to_bytes` wrote.
            #[staticmethod]
            fn from_bytes(
                py: Python<'_>,
                parameters: Bound<'_, $parameters>,
                data: &[u8],
            ) -> PyResult<Self> {
                let parameters = &parameters.get().0;
                engine::run(py, || <$kind>::from_bytes(parameters, data)).map(Self)
            }

            /// It as bytes.
            fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
                let data = engine::run(py, || Ok(self.0.to_bytes()))?;
                bytes::to_python(py, &data)
            }
        }
    };
}

/// What parameters say of their ring and their primes, and their bytes.
macro_rules! parameters {
    ($class:ident($kind:path)) => {
        #[pymethods]
        impl $class {
            /// log2 of the ring degree.
            #[getter]
            fn log_n(&self) -> u32 {
                self.0.log_n()
            }

            /// The ring degree.
            #[getter]
            fn n(&self) -> usize {
                self.0.n()
            }

            /// The top level.
            #[getter]
            fn levels(&self) -> usize {
                self.0.max_level()
            }

            /// Bits of the largest prime of any level.
            #[getter]
            fn word_bits(&self) -> u32 {
                self.0.word_bits()
            }

            /// log2 of the largest modulus, key-switching primes included.
            #[getter]
            fn log_qp(&self) -> f64 {
                self.0.log_qp()
            }

            /// Whether they fall short of 128-bit security.
            #[getter]
            fn insecure(&self) -> bool {
                !self.0.is_secure()
            }

            /// Equal exactly for parameters whose objects may be mixed.
            #[getter]
            fn fingerprint(&self) -> String {
                self.0.fingerprint().iter().map(|byte| format!("{byte:02x}")).collect()
            }

            /// Word primes of the largest modulus, key-switching primes included.
            #[getter]
            fn key_prime_count(&self) -> usize {
                self.0.key_limbs()
            }

            /// Word primes of the modulus of a level.
            fn prime_count(&self, py: Python<'_>, level: Number<usize>) -> PyResult<usize> {
                self.0.limbs(level.0).map_err(|error| errors::refusal(py, &error))
            }

            /// Bytes in memory of one evaluation key for a level.
            fn evaluation_key_bytes(
                &self,
                py: Python<'_>,
                level: Number<usize>,
            ) -> PyResult<usize> {
                self.0.evaluation_key_bytes(level.0).map_err(|error| errors::refusal(py, &error))
            }

            /// Read what `to_bytes` wrote, if it is accepted.
            ///
            /// Args:
            ///     data: The bytes.
            ///     insecure: Whether less than 128-bit security is accepted; bytes do not decide
            ///         that.
            ///     max_log_n: log2 of the largest ring degree that is accepted; by default 16.
            ///
            /// Raises:
            ///     MalformedBytesError: They are no parameters.
            ///     InsecureParametersError: They fall short of 128-bit security.
            ///     InvalidParametersError: The ring is larger than what is accepted.
            #[staticmethod]
            #[pyo3(signature = (data, *, insecure=false, max_log_n=Number(16)))]
            fn from_bytes(
                py: Python<'_>,
                data: &[u8],
                insecure: bool,
                max_log_n: Number<u32>,
            ) -> PyResult<Self> {
                let limits = ReadLimits { insecure, max_log_n: max_log_n.0 };
                engine::run(py, || <$kind>::from_bytes(data, &limits)).map(Self)
            }

            /// These parameters as bytes.
            fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
                let data = engine::run(py, || Ok(self.0.to_bytes()))?;
                bytes::to_python(py, &data)
            }

            fn __repr__(&self) -> String {
                format!("{}({})", stringify!($class), self.0)
            }
        }
    };
}

/// How keys are made and encrypt, and their bytes.
macro_rules! encrypting_keys {
    ($secret:ident, $public:ident, $parameters:ident, $plaintext:ident -> $ciphertext:ident by $encrypt:ident, $prefix:literal) => {
        #[pymethods]
        impl $secret {
            /// A fresh key from the operating system's randomness.
            #[staticmethod]
            fn generate(py: Python<'_>, parameters: Bound<'_, $parameters>) -> PyResult<Self> {
                let parameters = &parameters.get().0;
                engine::run(py, || keys::SecretKey::generate(parameters)).map(Self)
            }

            /// A fresh key that encrypts and does nothing else.
            fn public_key(&self, py: Python<'_>) -> PyResult<$public> {
                engine::run(py, || self.0.public_key()).map($public)
            }

            /// Encrypt; with less noise and in fewer bytes than a public key does.
            fn encrypt(
                &self,
                py: Python<'_>,
                plaintext: Bound<'_, $plaintext>,
            ) -> PyResult<$ciphertext> {
                let plaintext = &plaintext.get().0;
                engine::run(py, || self.0.$encrypt(plaintext)).map($ciphertext)
            }

            /// Which secret key it belongs to: a random public label.
            #[getter]
            fn key_id<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
                PyBytes::new(py, &self.0.id())
            }

            /// Read what `to_bytes` wrote.
            #[staticmethod]
            fn from_bytes(
                py: Python<'_>,
                parameters: Bound<'_, $parameters>,
                data: Secret,
            ) -> PyResult<Self> {
                let parameters = &parameters.get().0;
                engine::run(py, || keys::SecretKey::from_bytes(parameters, &data.0)).map(Self)
            }

            /// The secret itself as bytes, unprotected; the caller wipes them.
            fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyByteArray>> {
                let data = engine::run(py, || Ok(self.0.to_bytes()))?;
                Ok(PyByteArray::new(py, &data))
            }

            fn __repr__(&self) -> String {
                format!(concat!($prefix, "{:?}"), self.0)
            }
        }

        #[pymethods]
        impl $public {
            /// Encrypt.
            fn encrypt(
                &self,
                py: Python<'_>,
                plaintext: Bound<'_, $plaintext>,
            ) -> PyResult<$ciphertext> {
                let plaintext = &plaintext.get().0;
                engine::run(py, || self.0.$encrypt(plaintext)).map($ciphertext)
            }

            /// Which secret key it belongs to: a random public label.
            #[getter]
            fn key_id<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
                PyBytes::new(py, &self.0.id())
            }

            fn __repr__(&self) -> String {
                format!(concat!($prefix, "{:?}"), self.0)
            }
        }

        stored!($public(keys::PublicKey), $parameters);
    };
}

/// Keys that take ciphertexts of one secret key to another.
macro_rules! rekeying_keys {
    ($rekeying:ident, $secret:ident, $parameters:ident, $ciphertext:ident by $rekey:ident, $prefix:literal) => {
        #[pymethods]
        impl $secret {
            /// A key that takes ciphertexts of this secret key to another one.
            ///
            /// Raises:
            ///     ParametersMismatchError: They are of other parameters.
            fn rekeying_key(&self, py: Python<'_>, to: Bound<'_, $secret>) -> PyResult<$rekeying> {
                let to = &to.get().0;
                engine::run(py, || self.0.rekeying_key(to)).map($rekeying)
            }
        }

        #[pymethods]
        impl $rekeying {
            /// The same numbers under the second secret key.
            fn rekey(
                &self,
                py: Python<'_>,
                ciphertext: Bound<'_, $ciphertext>,
            ) -> PyResult<$ciphertext> {
                let ciphertext = &ciphertext.get().0;
                engine::run(py, || self.0.$rekey(ciphertext)).map($ciphertext)
            }

            /// Which secret key ciphertexts are taken to: a random public label.
            #[getter]
            fn key_id<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
                PyBytes::new(py, &self.0.id())
            }

            /// Bytes in memory.
            #[getter]
            fn nbytes(&self) -> usize {
                self.0.nbytes()
            }

            fn __repr__(&self) -> String {
                format!(concat!($prefix, "{:?}"), self.0)
            }
        }

        stored!($rekeying(keys::RekeyingKey), $parameters);
    };
}

/// What evaluation keys hold, put together and taken apart.
macro_rules! evaluation_keys {
    ($class:ident, $prefix:literal) => {
        impl $class {
            fn new(keys: keys::EvaluationKeys) -> Self {
                Self(Mutex::new(keys))
            }

            /// Never held across a call into Python.
            fn lock(&self) -> MutexGuard<'_, keys::EvaluationKeys> {
                self.0.lock().unwrap_or_else(PoisonError::into_inner)
            }

            /// The keys as they stand; they are shared, not copied.
            pub fn snapshot(&self) -> keys::EvaluationKeys {
                self.lock().clone()
            }
        }

        #[pymethods]
        impl $class {
            /// Take in the keys of another; of two keys for one rotation the higher stays.
            fn extend(&self, py: Python<'_>, other: Bound<'_, $class>) -> PyResult<()> {
                let other = other.get().snapshot();
                self.lock().extend(other).map_err(|error| errors::refusal(py, &error))
            }

            /// One object for each key, which is shared with these; an empty one if there are no
            /// keys.
            fn split(&self) -> Vec<Self> {
                self.snapshot().split().into_iter().map(Self::new).collect()
            }

            /// Rotations that there are keys for, with the level of each.
            fn rotations(&self) -> BTreeMap<i64, usize> {
                self.lock().rotations()
            }

            /// Rotations of which rotated products can be switched, that by 0 by the
            /// relinearisation key, with the level of each.
            fn rotated_products(&self) -> BTreeMap<i64, usize> {
                self.lock().rotated_products()
            }

            /// The level of the relinearisation key, if there is one.
            #[getter]
            fn relinearisation_level(&self) -> Option<usize> {
                self.lock().relinearisation_level()
            }

            /// Bytes in memory.
            #[getter]
            fn nbytes(&self) -> usize {
                self.lock().nbytes()
            }

            /// Which secret key it belongs to: a random public label.
            #[getter]
            fn key_id<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
                PyBytes::new(py, &self.lock().id())
            }

            /// These keys as bytes.
            fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
                let keys = self.snapshot();
                let data = engine::run(py, || Ok(keys.to_bytes()))?;
                bytes::to_python(py, &data)
            }

            fn __repr__(&self) -> String {
                format!(concat!($prefix, "{:?}"), self.lock())
            }
        }
    };
}
