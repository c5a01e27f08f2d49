export { build } from "./translator_steps.js"; // el mismo laboratorio, con el traductor de mensajes
