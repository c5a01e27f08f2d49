"""Los cuadernos: leer su fuente, rechazar lo que está mal, ejecutarlos y escribirlos."""
