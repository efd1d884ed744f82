/** Where this browser is. */
export function locate(): Promise<{ latitude: number; longitude: number; accuracy: number }> {
  return new Promise((resolve, reject) => {
    navigator.geolocation.getCurrentPosition(({ coords: { latitude, longitude, accuracy } }) => {
      resolve({ latitude, longitude, accuracy });
    }, reject);
  });
}
